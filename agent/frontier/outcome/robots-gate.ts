// Whether robots.txt lets a URL be fetched, and when robots.txt itself must be fetched first: one
// file for each origin (scheme, host, port), asked for before the first page, again after 24 hours,
// and with growing waits while the server will not or cannot answer (RFC 9309: unreachable means
// that everything is disallowed for now). A file that is another host's is asked of that one's owner
// (adr/0034), and the host is parked meanwhile. Used by the visits; the rules are read by the port.

import type { RobotsAsks } from '../../core/crawl/robots-asks.ts';
import type { RobotsOutcome } from '../../core/protocol/outcome.ts';
import type { KnownRobots, RobotsWord } from '../../core/protocol/visits-port.ts';
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

/** RFC 9309, 2.4: a cached copy should not be used for more than 24 hours. */
const ROBOTS_TTL_MS = 24 * 3600 * 1000;
/** RFC 9309, 2.3.1.2: at least five consecutive redirects. */
const ROBOTS_REDIRECTS_MAX = 5;
/** Steps that parsing an octet of a file counts for: a tenth of a microsecond. */
const PARSE_STEPS_PER_OCTET = 10;

/** Begins the reason of a robots.txt that was answered with a status, as far as `access.ts` gives it. */
const STATUS = 'status_';

export type RobotsAnswer = RobotsOutcome['answer'];

/** Told of files whose rules cost more than a check may. */
export interface RobotsLog {
  record(at: number, kind: 'robots', detail: Readonly<Record<string, unknown>>): void;
}

export type Gate =
  | { readonly kind: 'pass' }
  | { readonly kind: 'disallowed' }
  | { readonly kind: 'fetch'; readonly url: RequestForm }
  | { readonly kind: 'wait'; readonly untilMs: number }
  /** The owner of another host is asked; the visits are told. */
  | { readonly kind: 'asking' }
  /** Robots.txt stayed out of reach after all attempts; `error` is what its pages fail with. */
  | { readonly kind: 'given-up'; readonly error: string };

/**
 * Error code of pages whose robots.txt was answered with 429 or 5xx to the last, or is another
 * host's and could not be had from there: nobody may ask for them (RFC 9309, 2.3.1.4).
 */
const ROBOTS_ERROR = 'robots_unreachable';

/** Where the rules of other hosts are asked for; absent: nowhere. */
export type AskOthers = Pick<RobotsAsks, 'begin' | 'isAsking'>;

/** What the gate reads of its host. */
type GateHost = Pick<HostRecord, 'number' | 'host' | 'lastFetchAt' | 'delayMs' | 'notBefore'>;

interface Failed {
  readonly attempt: number;
  /** End of the first attempt. */
  readonly since: number;
  /** Undefined: no attempt is left. */
  readonly waitMs: number | undefined;
  readonly reason: string;
  readonly hop?: RobotsHop;
}

/**
 * The robots state of one host. What a later visit needs (answers, redirects followed, attempts) is
 * in the store; this object only caches parsed rules.
 */
export class RobotsGate {
  readonly #store: FrontierStore;
  readonly #asks: AskOthers | undefined;
  readonly #host: GateHost;
  readonly #parse: (body: Uint8Array) => RobotsRules;
  readonly #chance: Chance;
  readonly #rules: RulesCache;
  readonly #events: RobotsLog;
  /** The files read in this visit, by origin. */
  readonly #seen = new Map<string, { readonly fetchedAt: number; readonly delayMs: number }>();
  /** What checks and parsing have taken so far; a step is about an octet looked at. */
  steps = 0;
  /** Of the stored files; null: to be read again. */
  #storedDelayMs: number | null = null;

  constructor(
    parts: {
      readonly store: FrontierStore;
      readonly asks?: AskOthers;
      readonly parseRobots: (body: Uint8Array) => RobotsRules;
      readonly chance: Chance;
      readonly rules: RulesCache;
      readonly events: RobotsLog;
    },
    host: GateHost,
  ) {
    this.#store = parts.store;
    this.#asks = parts.asks;
    this.#host = host;
    this.#parse = parts.parseRobots;
    this.#chance = parts.chance;
    this.#rules = parts.rules;
    this.#events = parts.events;
  }

  /** The longest that a file of the host asks for, in this visit or before; 0 where none does. */
  get crawlDelayMs(): number {
    this.#storedDelayMs ??= this.#store.crawlDelay(this.#host.number);
    const delays = [...this.#seen.values()].map(({ delayMs }) => delayMs);
    return Math.max(this.#storedDelayMs, ...delays);
  }

  check(url: RequestForm, now: number): Gate {
    const origin = originOf(url);
    const fetchedAt = this.#seen.get(origin)?.fetchedAt;
    if (fetchedAt !== undefined && now < fetchedAt + ROBOTS_TTL_MS) {
      const cached = this.#rules.get(origin, fetchedAt);
      if (cached) return this.#verdict(cached, url);
    }
    if (this.#asks?.isAsking(this.#host.host, origin)) return { kind: 'asking' };
    const record = this.#store.robots(this.#host.number, origin);
    if (!record || !isYoung(record, now, this.#host)) return fetchOf(origin);
    if (record.kind === 'redirected' && record.hop) {
      return { kind: 'fetch', url: record.hop.location };
    }
    if (record.kind === 'unreachable') {
      if (record.retryAt === Infinity) return { kind: 'given-up', error: errorOf(record) };
      const untilMs = believedWait(record.retryAt, now);
      return now < untilMs ? { kind: 'wait', untilMs } : fetchOf(origin);
    }
    return this.#verdict(this.#read(origin, record), url);
  }

  #read(origin: string, { kind, body, fetchedAt }: RobotsRecord): RobotsRules {
    let rules = this.#rules.get(origin, fetchedAt);
    if (!rules) {
      this.steps += PARSE_STEPS_PER_OCTET * (body?.length ?? 0);
      rules = kind === 'rules' && body ? this.#parse(body) : ALLOW_ALL;
      this.#rules.put(origin, fetchedAt, rules);
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
   * Takes in the answer of `url`, which was requested as the robots.txt of `origin`. A redirect to
   * another host is not followed: the owner of that host is asked for its rules, if they are its own
   * and the host is part of the crawl.
   *
   * @returns how long the host is to be left alone because of it, 0 if not at all
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
    const last = this.#store.robots(number, origin)?.hop;
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
    } else if (isNear && this.#asks && to !== undefined) {
      this.#asks.begin({ host, origin, to, hops, left: ROBOTS_REDIRECTS_MAX - hops }, endedAt);
      // For people, and as no attempt: after a restart the host itself is asked anew.
      const reason = `${REDIRECTED}${location}${OWNER_IS_ASKED}`;
      const hop = { location, hops };
      this.#failed(origin, { attempt: attempts, since, waitMs: 0, reason, hop }, endedAt);
    } else {
      // Too many hops, or to what nobody asks for: unavailable (2.3.1.3).
      this.#save(origin, 'allowAll', endedAt, null, `${REDIRECTED}${location}`);
    }
  }

  #forget(origin: string): void {
    this.#rules.drop(origin);
    this.#seen.delete(origin);
  }

  /** The Crawl-delay of earlier rules stands until other rules are read. */
  #put(origin: string, record: RobotsRecord): void {
    const { number } = this.#host;
    const known = this.#store.robots(number, origin)?.crawlDelayMs;
    const kept = known === undefined ? record : { ...record, crawlDelayMs: known };
    this.#store.saveRobots(number, origin, kept);
  }

  #unreachable(
    origin: string,
    answer: Extract<RobotsAnswer, { kind: 'unreachable' }>,
    endedAt: number,
  ): number {
    const { attempt, since } = this.#row(origin, endedAt);
    const { status, error } = answer;
    const row = { failures: attempt - 1, failingMs: elapsedMs(since, endedAt) };
    const waitMs = waitAfter(answer, row, this.#chance);
    const reason = error ?? `${STATUS}${status}`;
    if (waitMs === undefined && asksAgain(status)) {
      // A 4xx to the last: unavailable (2.3.1.3).
      this.#save(origin, 'allowAll', endedAt, null, reason);
    } else this.#failed(origin, { attempt, since, waitMs, reason }, endedAt);
    return waitMs ?? 0;
  }

  /** The number of this attempt among those that failed in a row, and the end of the first. */
  #row(origin: string, endedAt: number): { attempt: number; since: number } {
    const last = this.#store.robots(this.#host.number, origin);
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

  /** Takes in what the owner of another host said, as if `origin` had answered so itself. */
  told(origin: string, word: RobotsWord, at: number): void {
    const { kind, reason } = word;
    switch (kind) {
      case 'rules':
        return this.#save(origin, kind, at, Buffer.from(word.body, 'base64'), reason);
      case 'allowAll':
        return this.#save(origin, kind, at, null, reason);
      case 'unreachable': {
        const row = this.#row(origin, at);
        const waitMs = word.final ? Infinity : RETRY_WAITS_MS[row.attempt - 1];
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
    // Parsed at once: its Crawl-delay counts from this very request on.
    this.#forget(origin);
    const parsed = this.#read(origin, record);
    const { rules = 0, wildcards = 0, isAboveCap = false } = parsed.size ?? {};
    const { host } = this.#host;
    if (isAboveCap) this.#events.record(fetchedAt, 'robots', { host, origin, rules, wildcards });
    const crawlDelayMs = parsed.crawlDelayMs ?? 0;
    const stored = crawlDelayMs > 0 ? { ...record, crawlDelayMs } : record;
    this.#store.saveRobots(this.#host.number, origin, stored);
    this.#storedDelayMs = null;
  }
}

/** What is known of an origin's robots.txt, for the owner of a host whose own leads there. */
export function knownRobots(record: RobotsRecord, now: number): KnownRobots {
  const { kind, hop } = record;
  const known = { word: wordOf(record), standing: standingOf(record, now) };
  if (kind !== 'unreachable' || !hop) return known;
  return { ...known, leadsTo: { to: originOf(hop.location), hops: hop.hops } };
}

function wordOf({ kind, body, reason, retryAt }: RobotsRecord): RobotsWord {
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

/**
 * An answer of a time to come is one of a clock that was set back. While the host has been asked for
 * nothing since the answer, the age counts from the end of the wait that followed it: with a delay,
 * or a Retry-After, of 24 hours and more each answer would otherwise be too old at its first use,
 * and the host would be asked for nothing but its robots.txt.
 */
function isYoung({ fetchedAt }: RobotsRecord, now: number, host?: GateHost): boolean {
  if (fetchedAt > now) return false;
  const isLast = host?.lastFetchAt != null && host.lastFetchAt <= fetchedAt;
  const heldUntil = isLast ? Math.max(fetchedAt + host.delayMs, host.notBefore) : fetchedAt;
  return now - Math.min(now, heldUntil) < ROBOTS_TTL_MS;
}

/** The code of the failure, where the host's own robots.txt got no answer. */
function errorOf({ reason }: RobotsRecord): string {
  const isFailure = reason !== '' && !reason.startsWith(REDIRECTED) && !reason.startsWith(STATUS);
  return isFailure ? reason : ROBOTS_ERROR;
}

const ALLOW_ALL: RobotsRules = { allows: () => ({ allowed: true }), crawlDelayMs: null };

/** As for pages. Undefined: no attempt is left. */
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
