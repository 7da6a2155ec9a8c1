// The robots.txt files of the simulated web: a host's file forbids some URLs, or redirects to the
// file of another host. The redirects have their own random source, seeded by the run. The checker
// knows whose rules apply to each host.

import type { RobotsOutcome } from '../../agent/core/protocol/outcome.ts';
import type { RobotsRules } from '../../agent/frontier/outcome/rules-cache.ts';
import type { SeenRequest } from '../checkers/evidence.ts';
import { Random } from './random.ts';

/** Suffix of the URLs that every robots.txt forbids. */
export const FORBIDDEN = 'forbidden';
/** Host outside the crawl to which a robots.txt may redirect. */
export const OUTSIDE = 'outside.test';

/** By host, the host to which its robots.txt redirects. Other hosts have their own file. */
export type RobotsLeads = ReadonlyMap<string, string>;

const REDIRECTS_MAX = 5;

/**
 * The robots.txt of a host. If some hosts redirect, a file with rules contains the name of its
 * host.
 */
export function robotsFile(host: string, leads: RobotsLeads): RobotsOutcome['answer'] {
  const to = leads.get(host);
  if (to === undefined) {
    const body = leads.size > 0 ? new TextEncoder().encode(host) : new Uint8Array(1);
    return { kind: 'rules', body, sitemaps: [] };
  }
  const told = { kind: 'redirect', location: `http://${to}/robots.txt`, host: to } as const;
  return to === OUTSIDE ? told : { ...told, origin: `http://${to}` };
}

export function readRobots(body: Uint8Array): RobotsRules {
  const own = body.length > 1 ? notBy(new TextDecoder().decode(body)) : FORBIDDEN;
  return {
    allows: (url) => ({ allowed: !url.endsWith(FORBIDDEN) && !url.endsWith(own) }),
    crawlDelayMs: null,
  };
}

/** Suffix of the URLs that only this host's file forbids. */
function notBy(host: string): string {
  return `not-by-${host}`;
}

/** URLs of the host that its rules forbid, if any rules apply to it. */
export function forbiddenAt(host: string, leads: RobotsLeads): string[] {
  const judge = judgeOf(host, leads);
  const urls = [`http://${host}/${FORBIDDEN}`];
  return judge === null || judge === host ? urls : [...urls, `http://${host}/${notBy(judge)}`];
}

/**
 * The host whose rules apply; null: none, in a circle, outside the crawl, or after too many
 * redirects.
 */
function judgeOf(host: string, leads: RobotsLeads): string | null {
  let at = host;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const to = leads.get(at);
    if (to === undefined) return at;
    at = to;
  }
  return null;
}

/** Requests for URLs that the rules of another host forbid. */
export function disobeyed(requests: readonly SeenRequest[], leads: RobotsLeads): string[] {
  const forbidden = new Set([...leads.keys()].flatMap((host) => judged(host, leads)));
  const offending = requests.filter(({ url }) => forbidden.has(url));
  return offending.map(({ url, by }) => `${by} asked for ${url} in spite of robots.txt`);
}

function judged(host: string, leads: RobotsLeads): string[] {
  const judge = judgeOf(host, leads);
  return judge === null || judge === OUTSIDE ? [] : forbiddenAt(host, leads);
}

/**
 * In a third of the runs some hosts' files redirect to other hosts, in random chains and circles.
 */
export function drawLeads(seed: number, hosts: readonly string[]): RobotsLeads {
  const random = new Random(seed * 104_729 + 71);
  const leads = new Map<string, string>();
  if (!random.chance(0.35)) return leads;
  for (const host of hosts) {
    if (!random.chance(0.45)) continue;
    const to = random.chance(0.1) ? OUTSIDE : random.pick(hosts);
    if (to !== host) leads.set(host, to);
  }
  return leads;
}
