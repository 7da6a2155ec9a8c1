// Decides whether robots.txt allows a URL, and when robots.txt itself must be fetched. Each origin
// (scheme, host, port) has one file. It is requested before the first page, again after 24 hours,
// and with growing waits while it is unreachable; until then all URLs of the origin are disallowed
// (RFC 9309). If the file redirects to another host, that host's owner is asked for its rules
// (adr/0034), and this host waits.

import type { RemoteRobots } from '../../core/crawl/remote-robots.ts';
import type { RobotsOutcome } from '../../core/protocol/outcome.ts';
import type { KnownRobots, RobotsResult } from '../../core/protocol/visits-port.ts';
import type { RequestForm } from '../../url/crawl-url.ts';
import { OWNER_IS_ASKED, REDIRECTED } from '../../url/redirect-reasons.ts';
import type { FrontierStore, HostRecord, RobotsHop, RobotsRecord } from '../frontier-store.ts';
import {
  asksAgain,
  BUSY_ATTEMPTS_MAX,
  BUSY_MS_MAX,
  believedWait,
  busyWaitMs,
  type Chance,
  elapsedMs,
  isBusy,
  nextWaitMs,
  RETRY_WAITS_MS,
  type Row,
  waitsOf,
} from './retry.ts';
import type { RobotsRules, RulesCache } from './rules-cache.ts';

/** RFC 9309, 2.4: a crawler should not use a cached copy for more than 24 hours. */
const ROBOTS_TTL_MS = 24 * 3600 * 1000;
/** RFC 9309, 2.3.1.2: crawlers should follow at least five consecutive redirects. */
const ROBOTS_REDIRECTS_MAX = 5;
/** Cost of parsing one octet of a file, in steps: a tenth of a microsecond. */
const PARSE_STEPS_PER_OCTET = 10;

/** Prefix of the reason if a status made robots.txt unavailable (set by `robots/access.ts`). */
const STATUS = 'status_';

export type RobotsAnswer = RobotsOutcome['answer'];

/** Records files with more rules than a check may examine. */
export interface RobotsLog {
  record(at: number, kind: 'robots', detail: Readonly<Record<string, unknown>>): void;
}

export type Gate =
  | { readonly kind: 'pass' }
  | { readonly kind: 'disallowed' }
  | { readonly kind: 'fetch'; readonly url: RequestForm }
  /** `ofOrigin`: other origins of the host need not wait. */
  | { readonly kind: 'wait'; readonly untilMs: number; readonly ofOrigin: boolean }
  /** The owner of another host is being asked; its answer wakes the host. */
  | { readonly kind: 'asking' }
  /** Robots.txt was unreachable in all attempts; the origin's pages fail with `error`. */
  | { readonly kind: 'given-up'; readonly error: string };

/**
 * Error code of pages whose robots.txt was answered with 429 or 5xx in all attempts, or is on
 * another host whose owner could not get it. Such pages must not be requested (RFC 9309, 2.3.1.4).
 */
const ROBOTS_ERROR = 'robots_unreachable';

/** Asks other owners for the rules of their hosts; absent: such rules are not looked up. */
export type AskOthers = Pick<RemoteRobots, 'begin' | 'isLookingUp'>;

type GateHost = Pick<HostRecord, 'number' | 'host' | 'lastFetchAt' | 'delayMs' | 'notBefore'>;

interface GateParts {
  readonly store: FrontierStore;
  readonly directives: { delayOf(host: HostRecord['host']): number };
  readonly asks?: AskOthers;
  readonly parseRobots: (body: Uint8Array) => RobotsRules;
  readonly chance: Chance;
  readonly rules: RulesCache;
  readonly events: RobotsLog;
}

interface Failed {
  readonly attempt: number;
  /** End of the first failed attempt. */
  readonly since: number;
  /** Undefined: no attempt is left. */
  readonly waitMs: number | undefined;
  readonly reason: string;
  readonly hop?: RobotsHop;
}

/** The robots state of one host. It is kept in the store; this object only caches parsed rules. */
export class RobotsGate {
  readonly #p: GateParts;
  readonly #host: GateHost;
  /** The files read in this visit, by origin. Bound: the origins of the host's queued URLs. */
  readonly #seen = new Map<string, { readonly fetchedAt: number; readonly delayMs: number }>();
  /** Cost of all checks and parsing so far; a step is about one octet examined. */
  steps = 0;
  /** An origin whose rules are known; null: none was found yet. Saves reading its record. */
  #answering: string | null = null;
  /** The longest Crawl-delay of the stored files; null: to be read again. */
  #storedDelayMs: number | null = null;

  constructor(parts: GateParts, host: GateHost) {
    this.#p = parts;
    this.#host = host;
  }

  /** The longest Crawl-delay of the host's files, read now or in earlier visits; 0: none. */
  get crawlDelayMs(): number {
    this.#storedDelayMs ??= this.#p.store.crawlDelay(this.#host.number);
    const delays = [...this.#seen.values()].map(({ delayMs }) => delayMs);
    return Math.max(this.#storedDelayMs, ...delays);
  }

  check(url: RequestForm, now: number): Gate {
    const origin = originOf(url);
    const fetchedAt = this.#seen.get(origin)?.fetchedAt;
    if (fetchedAt !== undefined && now < fetchedAt + ROBOTS_TTL_MS) {
      const cached = this.#p.rules.get(origin, fetchedAt);
      if (cached) return this.#verdict(cached, url);
    }
    if (this.#p.asks?.isLookingUp(this.#host.host, origin)) return { kind: 'asking' };
    const record = this.#p.store.robots(this.#host.number, origin);
    if (!record || !isYoung(record, now, this.#heldUntil(record))) return fetchOf(origin);
    if (record.kind === 'redirected' && record.hop) {
      return { kind: 'fetch', url: record.hop.location };
    }
    if (record.kind === 'unreachable') {
      if (record.retryAt === Infinity) return { kind: 'given-up', error: errorOf(record) };
      const untilMs = believedWait(record.retryAt, now);
      if (now >= untilMs) return fetchOf(origin);
      return { kind: 'wait', untilMs, ofOrigin: this.#hasOther(origin) };
    }
    return this.#verdict(this.#read(origin, record), url);
  }

  /** Whether the rules of another origin of the host are known, so its web server answers. */
  #hasOther(origin: string): boolean {
    if (this.#answering !== null) return this.#answering !== origin;
    const { host, number } = this.#host;
    const others = [...this.#seen.keys(), `http://${host}`, `https://${host}`];
    const found = others.find((other) => {
      const kind = other === origin ? undefined : this.#p.store.robots(number, other)?.kind;
      return kind === 'rules' || kind === 'allowAll';
    });
    this.#answering = found ?? null;
    return found !== undefined;
  }

  #read(origin: string, { kind, body, fetchedAt }: RobotsRecord): RobotsRules {
    let rules = this.#p.rules.get(origin, fetchedAt);
    if (!rules) {
      this.steps += PARSE_STEPS_PER_OCTET * (body?.length ?? 0);
      rules = kind === 'rules' && body ? this.#p.parseRobots(body) : ALLOW_ALL;
      this.#p.rules.put(origin, fetchedAt, rules);
    }
    this.#seen.set(origin, { fetchedAt, delayMs: rules.crawlDelayMs ?? 0 });
    return rules;
  }

  #verdict(rules: RobotsRules, url: RequestForm): Gate {
    const { allowed, steps = 0 } = rules.allows(url);
    this.steps += steps;
    return allowed ? { kind: 'pass' } : { kind: 'disallowed' };
  }

  /**
   * Handles the answer for `url`, which was requested as the robots.txt of `origin`. A redirect to
   * another host is not followed. If it leads to that host's own robots.txt and the host is part of
   * the crawl, the host's owner is asked for the rules.
   * @returns milliseconds for which the host must not be requested because of the answer
   */
  answered(origin: string, url: string, answer: RobotsAnswer, endedAt: number): number {
    this.#forget(origin);
    if (answer.kind === 'unreachable') return this.#unreachable(origin, answer, endedAt);
    if (answer.kind === 'redirect') {
      this.#redirected(origin, url, answer, endedAt);
      return 0;
    }
    const body = answer.kind === 'rules' ? answer.body : null;
    const reason = answer.kind === 'allowAll' ? answer.reason : '';
    this.#save(origin, answer.kind, endedAt, body, reason);
    return 0;
  }

  #redirected(
    origin: string,
    url: string,
    { location, host: toHost, origin: to }: Extract<RobotsAnswer, { kind: 'redirect' }>,
    endedAt: number,
  ): void {
    const { host, number } = this.#host;
    const last = this.#p.store.robots(number, origin)?.hop;
    const hops = (last?.location === url ? last.hops : 0) + 1;
    const { attempt, since } = this.#row(origin, endedAt);
    const attempts = attempt - 1;
    const failedSince = attempts > 0 ? { failedSince: since } : {};
    const isNear = hops <= ROBOTS_REDIRECTS_MAX;
    if (isNear && toHost === host) {
      this.#put(origin, {
        ...{ kind: 'redirected', fetchedAt: endedAt, body: null, attempts, retryAt: 0 },
        ...{ reason: `${REDIRECTED}${location}`, hop: { location, hops }, ...failedSince },
      });
    } else if (isNear && this.#p.asks && to !== undefined) {
      this.#p.asks.begin({ host, origin, to, hops, left: ROBOTS_REDIRECTS_MAX - hops }, endedAt);
      // The reason is for operators. No attempt is counted; a restart requests the own file again.
      const reason = `${REDIRECTED}${location}${OWNER_IS_ASKED}`;
      const hop = { location, hops };
      this.#failed(origin, { attempt: attempts, since, waitMs: 0, reason, hop }, endedAt);
    } else {
      // Too many redirects, or a target that is never requested: unavailable (2.3.1.3).
      this.#save(origin, 'allowAll', endedAt, null, `${REDIRECTED}${location}`);
    }
  }

  /**
   * If the host has had no request since the answer, the answer's age counts from the end of the wait
   * that followed it. Otherwise, with a delay or Retry-After of 24 hours or more, each answer would
   * be too old at its first use, and the agent would request nothing but robots.txt.
   */
  #heldUntil({ fetchedAt }: RobotsRecord): number {
    const { host, lastFetchAt, delayMs, notBefore } = this.#host;
    if (lastFetchAt === null || lastFetchAt > fetchedAt) return fetchedAt;
    return Math.max(fetchedAt + Math.max(delayMs, this.#p.directives.delayOf(host)), notBefore);
  }

  #forget(origin: string): void {
    if (this.#answering === origin) this.#answering = null;
    this.#p.rules.drop(origin);
    this.#seen.delete(origin);
  }

  /** Saves the record. The Crawl-delay of earlier rules applies until other rules are read. */
  #put(origin: string, record: RobotsRecord): void {
    const { number } = this.#host;
    const known = this.#p.store.robots(number, origin)?.crawlDelayMs;
    const kept = known === undefined ? record : { ...record, crawlDelayMs: known };
    this.#p.store.saveRobots(number, origin, kept);
  }

  #unreachable(
    origin: string,
    answer: Extract<RobotsAnswer, { kind: 'unreachable' }>,
    endedAt: number,
  ): number {
    const { attempt, since } = this.#row(origin, endedAt);
    const { status, error } = answer;
    const row = { failures: attempt - 1, failingMs: elapsedMs(since, endedAt) };
    const waitMs = waitAfter(answer, row, this.#p.chance);
    const reason = error ?? `${STATUS}${status}`;
    if (waitMs === undefined && asksAgain(status)) {
      // 4xx in all attempts: unavailable (2.3.1.3).
      this.#save(origin, 'allowAll', endedAt, null, reason);
    } else this.#failed(origin, { attempt, since, waitMs, reason }, endedAt);
    return waitMs === undefined || (!isBusy(status) && this.#hasOther(origin)) ? 0 : waitMs;
  }

  /** The number of this attempt in the current series of failures, and the end of the first one. */
  #row(origin: string, endedAt: number): { attempt: number; since: number } {
    const last = this.#p.store.robots(this.#host.number, origin);
    if (!last || last.retryAt === Infinity) return { attempt: 1, since: endedAt };
    return { attempt: last.attempts + 1, since: last.failedSince ?? endedAt };
  }

  #failed(origin: string, failed: Failed, fetchedAt: number): void {
    const { attempt, since, waitMs = Infinity, reason, hop } = failed;
    this.#put(origin, {
      ...{ kind: 'unreachable', fetchedAt, body: null, reason },
      ...{ attempts: attempt, failedSince: since, retryAt: fetchedAt + waitMs },
      ...(hop && { hop }),
    });
  }

  /** Handles the rules that another host's owner reported, as if `origin` itself had answered. */
  reported(origin: string, result: RobotsResult, at: number): void {
    const { kind, reason } = result;
    switch (kind) {
      case 'rules':
        return this.#save(origin, kind, at, Buffer.from(result.body, 'base64'), reason);
      case 'allowAll':
        return this.#save(origin, kind, at, null, reason);
      case 'unreachable': {
        const row = this.#row(origin, at);
        const waitMs = result.final ? Infinity : RETRY_WAITS_MS[row.attempt - 1];
        return this.#failed(origin, { ...row, waitMs, reason }, at);
      }
    }
  }

  #save(
    origin: string,
    kind: RobotsRecord['kind'],
    fetchedAt: number,
    body: Uint8Array | null,
    reason: string,
  ): void {
    const record = { kind, fetchedAt, body, attempts: 0, retryAt: 0, reason };
    // Parsed at once, since its Crawl-delay applies after this request already.
    this.#forget(origin);
    const parsed = this.#read(origin, record);
    const { rules = 0, wildcards = 0, isAboveCap = false } = parsed.size ?? {};
    const { host } = this.#host;
    if (isAboveCap) this.#p.events.record(fetchedAt, 'robots', { host, origin, rules, wildcards });
    const crawlDelayMs = parsed.crawlDelayMs ?? 0;
    const stored = crawlDelayMs > 0 ? { ...record, crawlDelayMs } : record;
    this.#p.store.saveRobots(this.#host.number, origin, stored);
    this.#storedDelayMs = null;
  }
}

/** What is stored about an origin's robots.txt, for the owner of a host that redirects to it. */
export function knownRobots(record: RobotsRecord, now: number): KnownRobots {
  const { kind, hop } = record;
  const known = { result: resultOf(record), standing: standingOf(record, now) };
  if (kind !== 'unreachable' || !hop) return known;
  return { ...known, leadsTo: { to: originOf(hop.location), hops: hop.hops } };
}

function resultOf({ kind, body, reason, retryAt }: RobotsRecord): RobotsResult {
  switch (kind) {
    case 'rules':
      return { kind, reason, body: Buffer.from(body ?? []).toString('base64') };
    case 'allowAll':
      return { kind, reason };
    case 'unreachable':
      return { kind, reason, final: retryAt === Infinity };
    case 'redirected':
      return { kind: 'unreachable', reason, final: false };
  }
}

function standingOf(record: RobotsRecord, now: number): KnownRobots['standing'] {
  if (!isYoung(record, now)) return 'stale';
  if (record.kind === 'redirected') return 'retrying';
  return record.kind === 'unreachable' && record.retryAt !== Infinity ? 'retrying' : 'fresh';
}

/** A time in the future means that the clock was set back; the answer is then too old. */
function isYoung({ fetchedAt }: RobotsRecord, now: number, heldUntil = fetchedAt): boolean {
  return fetchedAt <= now && now - Math.min(now, heldUntil) < ROBOTS_TTL_MS;
}

/** The failure's code if the host's own robots.txt got no response; else `ROBOTS_ERROR`. */
function errorOf({ reason }: RobotsRecord): string {
  const isFailure = reason !== '' && !reason.startsWith(REDIRECTED) && !reason.startsWith(STATUS);
  return isFailure ? reason : ROBOTS_ERROR;
}

const ALLOW_ALL: RobotsRules = { allows: () => ({ allowed: true }), crawlDelayMs: null };

/** The wait before the next attempt, by the rules for pages. Undefined: no attempt is left. */
function waitAfter(
  { status, retryAfterMs }: Extract<RobotsAnswer, { kind: 'unreachable' }>,
  row: Row,
  chance: Chance,
): number | undefined {
  const { failures, failingMs } = row;
  if (!isBusy(status)) {
    const waitMs = nextWaitMs(waitsOf(status), row);
    return waitMs === undefined ? undefined : Math.max(waitMs, retryAfterMs ?? 0);
  }
  if (failures + 1 >= BUSY_ATTEMPTS_MAX && failingMs >= BUSY_MS_MAX) return undefined;
  const steps = Math.min(failures, BUSY_ATTEMPTS_MAX - 1);
  return busyWaitMs(retryAfterMs, { steps, failingMs }, chance);
}

function fetchOf(origin: string): Gate {
  return { kind: 'fetch', url: `${origin}/robots.txt` };
}

/** Scheme, host and port of a canonical URL. */
export function originOf(url: string): string {
  const end = url.indexOf('/', url.indexOf('://') + 3);
  return end < 0 ? url : url.slice(0, end);
}
