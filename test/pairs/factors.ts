// The factors of the pair suite: the behaviours of three hosts, in three groups, and the config of
// the crawl. Behaviours of one group are never in one crawl, which keeps the suite short. Every
// behaviour meets every level of the config.

import type { Reach } from '../web/behaviour-web.ts';
import type { BehaviourName } from '../web/behaviours.ts';
import type { Excluded, Factors, Row } from './covering-array.ts';

/** The factors that name the behaviours of the hosts, in the order of the hosts. */
export const hostFactors = ['form', 'connection', 'load'] as const;

const behaviours = {
  form: [
    'plain',
    'robotsRedirect',
    'pageRedirects',
    'selfRedirect',
    'trackingRedirect',
    'cookieWall',
    'cookieWallAway',
  ],
  connection: [
    'slow',
    'dripping',
    'closesIdle',
    'deadInTheMiddle',
    'oddFraming',
    'stackedCodings',
    'large',
  ],
  load: [
    'restartingZero',
    'restartingOne',
    'restartingPast',
    'limitedOnce',
    'timedOutOnce',
    'copies',
    'trap',
  ],
} as const satisfies Record<(typeof hostFactors)[number], readonly BehaviourName[]>;

const onOff = ['on', 'off'] as const;

export const factors: Factors = {
  ...behaviours,
  /** `proxy` is for http, `tunnel` for https. */
  way: ['http', 'https', 'h2', 'proxy', 'tunnel'],
  addresses: ['own', 'shared'],
  rounds: ['1', '2'],
  agents: ['1', '2', '3'],
  client: ['got', 'node'],
  ipDelayMs: ['0', '30'],
  responseTimeFactor: ['0', '2'],
  cookies: onOff,
  dropTracking: onOff,
  warc: onOff,
  quorum: ['none', 'majority'],
  backups: ['0', '1'],
  sitemaps: onOff,
  limits: ['wide', 'tight'],
};

/**
 * A cookie wall admits only clients that keep cookies, a trap ends only at a limit, and the
 * slow-down for copies begins above the tight limit. The hosts' certificates name addresses.
 */
export const excluded: readonly Excluded[] = [
  { form: 'cookieWall', cookies: 'off' },
  { form: 'cookieWallAway', cookies: 'off' },
  { load: 'trap', limits: 'wide' },
  { load: 'copies', limits: 'tight' },
  ...['https', 'h2', 'tunnel'].map((way) => ({ way, addresses: 'shared' })),
];

export function isProxied({ way }: Row): boolean {
  return way === 'proxy' || way === 'tunnel';
}

export function reachOf({ way, addresses }: Row): Reach {
  const over = way === 'h2' ? 'h2' : way === 'https' || way === 'tunnel' ? 'https' : 'http';
  return { over, sharesAddress: addresses === 'shared' };
}

export const hostDelayMs = 20;

/** The config of a row, without the keys that depend on the hosts' addresses. */
export function configOf(row: Row): Record<string, unknown> {
  return {
    politeness: {
      hostDelayMs,
      ipDelayMs: Number(row.ipDelayMs),
      responseTimeFactor: Number(row.responseTimeFactor),
    },
    urls: { dropTracking: row.dropTracking === 'on' },
    archive: { warc: row.warc === 'on' },
    ...(row.limits === 'tight'
      ? { limits: { pagesPerHost: 12, depthPerHost: 12, bodyBytes: 65_536 } }
      : {}),
  };
}
