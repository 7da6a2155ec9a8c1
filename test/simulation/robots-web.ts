// The robots.txt of the simulated web: a host forbids what its own file names, or its file is that
// of another host. Which leads where is drawn from the seed of a run, apart from all its other draws.
// The checker knows by whose rules each host goes.

import type { RobotsOutcome } from '../../agent/core/protocol/outcome.ts';
import type { RobotsRules } from '../../agent/frontier/outcome/rules-cache.ts';
import type { SeenRequest } from '../checkers/evidence.ts';
import { Random } from './random.ts';

/** End of the URLs that every robots.txt forbids. */
export const FORBIDDEN = 'forbidden';
/** Where a robots.txt leads that is no part of the crawl. */
export const OUTSIDE = 'outside.test';

/** By host, the host whose robots.txt its own leads to; whoever is not here has its own. */
export type RobotsLeads = ReadonlyMap<string, string>;

const REDIRECTS_MAX = 5;

/** The file of a host; of one that others may be judged by, its name stands in it. */
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

/** End of the URLs that the file of this host alone forbids. */
function notBy(host: string): string {
  return `not-by-${host}`;
}

/** URLs of the host that are forbidden, if it goes by any rules. */
export function forbiddenAt(host: string, leads: RobotsLeads): string[] {
  const judge = judgeOf(host, leads);
  const urls = [`http://${host}/${FORBIDDEN}`];
  return judge === null || judge === host ? urls : [...urls, `http://${host}/${notBy(judge)}`];
}

/** Whose rules a host goes by; null: nobody's, in a circle, outside, or too far away to be sure. */
function judgeOf(host: string, leads: RobotsLeads): string | null {
  let at = host;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const to = leads.get(at);
    if (to === undefined) return at;
    at = to;
  }
  return null;
}

/** Requests for what the rules of another host forbid. */
export function disobeyed(requests: readonly SeenRequest[], leads: RobotsLeads): string[] {
  const forbidden = new Set([...leads.keys()].flatMap((host) => judged(host, leads)));
  const offending = requests.filter(({ url }) => forbidden.has(url));
  return offending.map(({ url, by }) => `${by} asked for ${url} in spite of robots.txt`);
}

function judged(host: string, leads: RobotsLeads): string[] {
  const judge = judgeOf(host, leads);
  return judge === null || judge === OUTSIDE ? [] : forbiddenAt(host, leads);
}

/** In a third of the runs some hosts' files are others', in chains and circles as it comes. */
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
