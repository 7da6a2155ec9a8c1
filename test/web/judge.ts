// Judges a crawl by the web server's log alone: every page was requested, none that robots.txt or
// nofollow forbids, none twice, one request at a host at a time, and none too early. Pure.
import { plainTarget, type SyntheticWeb } from './model.ts';
import type { LoggedRequest } from './request-log.ts';

/** The number of cases, and samples of them. */
export interface Finding {
  readonly count: number;
  readonly samples: readonly string[];
}

export interface Judgement {
  readonly requests: number;
  /** Hosts that received any request. */
  readonly hosts: number;
  /** URLs that a complete crawl requests, and how many of them got a final answer. */
  readonly expected: number;
  readonly fetched: number;
  /** Distinct URLs that got an answer, also those that a complete crawl need not request. */
  readonly answered: number;
  /** URLs that a complete crawl requests but that never got a final answer. */
  readonly missing: Finding;
  /** Requests that robots.txt or nofollow forbids. */
  readonly forbidden: Finding;
  /** Requests for URLs that no page links to. */
  readonly unknown: Finding;
  /** Requests that began before their host had answered for robots.txt. */
  readonly beforeRobots: Finding;
  /** Final answers beyond the first of a URL. */
  readonly overlap: Finding;
  /** Requests that began while another at the same host was open. */
  readonly concurrent: Finding;
  /** Requests that began less than the politeness delay after the previous one ended. */
  readonly tooSoon: Finding;
  /** Shortest time between two requests at a host; null if no host had two. */
  readonly worstGapMs: number | null;
}

export interface Rules {
  /** The crawler's politeness delay. */
  readonly delayMs: number;
  /**
   * Tolerance of the delay, because timers and clocks of two processes differ by about this much.
   */
  readonly slackMs?: number;
}

/** Node's timers count whole milliseconds and may fire up to one early. */
const defaultSlackMs = 1;
/** Maximum number of samples in a finding. */
const samplesMax = 5;

class Tally {
  #count = 0;
  readonly #samples: string[] = [];

  add(sample: () => string): void {
    this.#count++;
    if (this.#samples.length < samplesMax) this.#samples.push(sample());
  }

  finding(): Finding {
    return { count: this.#count, samples: this.#samples };
  }
}

/** Compares a log, in any order, with the log of a complete and polite crawl of `web`. */
export function judge(
  web: SyntheticWeb,
  requests: readonly LoggedRequest[],
  rules: Rules,
): Judgement {
  const byHost = Map.groupBy(requests, ({ host }) => host);
  for (const list of byHost.values()) list.sort((a, b) => a.startMs - b.startMs);
  return {
    requests: requests.length,
    hosts: byHost.size,
    ...coverage(web, byHost),
    ...politeness(byHost, rules),
  };
}

/** Whether there are no findings, except up to `overlapMax` final answers beyond the first. */
export function holds(judgement: Judgement, overlapMax = 0): boolean {
  const { missing, forbidden, unknown, beforeRobots, concurrent, tooSoon } = judgement;
  const none = [missing, forbidden, unknown, beforeRobots, concurrent, tooSoon].every(
    ({ count }) => count === 0,
  );
  return none && judgement.overlap.count <= overlapMax;
}

type ByHost = ReadonlyMap<string, readonly LoggedRequest[]>;

function coverage(web: SyntheticWeb, byHost: ByHost) {
  const [forbidden, unknown, beforeRobots, overlap] = [tally(), tally(), tally(), tally()];
  const answered = new Set<string>();
  for (const [address, list] of byHost) {
    const host = web.hostOf(address);
    let robotsEndMs = Number.POSITIVE_INFINITY;
    for (const request of list) {
      const url = `${web.protocol}//${address}:${web.options.port}${plainTarget(request.path)}`;
      if (request.path === '/robots.txt') {
        if (request.status !== 0) robotsEndMs = Math.min(robotsEndMs, request.endMs);
        continue;
      }
      if (request.startMs < robotsEndMs) beforeRobots.add(() => url);
      const verdict = web.verdict(host, request.path);
      if (verdict === 'never') forbidden.add(() => url);
      if (verdict === 'unknown') unknown.add(() => url);
      const ending = endingOf(web, host, request);
      if (ending === 'final' && answered.has(url)) overlap.add(() => url);
      if (ending !== 'again') answered.add(url);
    }
  }
  const missing = tally();
  const { must } = web.expected();
  for (const url of must) if (!answered.has(url)) missing.add(() => url);
  return {
    expected: must.size,
    fetched: must.size - missing.finding().count,
    answered: answered.size,
    missing: missing.finding(),
    forbidden: forbidden.finding(),
    unknown: unknown.finding(),
    beforeRobots: beforeRobots.finding(),
    overlap: overlap.finding(),
  };
}

/**
 * Whether a crawler must request the URL again after this answer (`again`), must not (`final`), or
 * may (`broken`). A page that always breaks is done with its first answer, and retries are no
 * overlap.
 */
export function endingOf(
  web: SyntheticWeb,
  host: number,
  { path, status }: LoggedRequest,
): 'again' | 'final' | 'broken' {
  if (status === 0 || status === 503) return 'again';
  const place = web.place(host, path);
  const broken = place?.kind === 'page' && web.kind(host, place.page) === 'broken';
  return broken ? 'broken' : 'final';
}

function politeness(byHost: ByHost, { delayMs, slackMs = defaultSlackMs }: Rules) {
  const [concurrent, tooSoon] = [tally(), tally()];
  let worstGapMs: number | null = null;
  for (const list of byHost.values()) {
    let last: LoggedRequest | null = null;
    for (const request of list) {
      if (last !== null) {
        const before = last;
        const gapMs = request.startMs - before.endMs;
        const describe = () =>
          `${request.host}${request.path} ${gapMs.toFixed(1)} ms after ${before.path}`;
        if (gapMs < 0) concurrent.add(describe);
        else if (gapMs < delayMs - slackMs) tooSoon.add(describe);
        worstGapMs = Math.min(worstGapMs ?? gapMs, gapMs);
      }
      if (last === null || request.endMs > last.endMs) last = request;
    }
  }
  return { concurrent: concurrent.finding(), tooSoon: tooSoon.finding(), worstGapMs };
}

function tally(): Tally {
  return new Tally();
}
