// Whether robots.txt lets a URL be fetched, and when robots.txt itself must be fetched first: one
// file for each origin (scheme, host, port), asked for before the first page, again after 24 hours,
// and with growing waits while the server will not or cannot answer (RFC 9309: unreachable means
// that everything is disallowed for now). A file that is another host's is asked of that one's owner
// (adr/0034), and the host is parked meanwhile. Used by the visits; the rules are read by the port.

import type { RobotsOutcome } from '../core/outcome.ts';
import type { RobotsAsks } from '../core/robots-asks.ts';
import type { KnownRobots, RobotsWord } from '../core/visits.ts';
import { OWNER_IS_ASKED, REDIRECTED } from '../url/redirect-reasons.ts';
import {
  BUSY_ATTEMPTS_MAX,
  believedWait,
  busyWaitMs,
  type Chance,
  isBusy,
  RETRY_WAITS_MS,
} from './retry.ts';
import type { FrontierStore, HostRecord, RobotsRecord } from './store.ts';

/** RFC 9309, 2.4: a cached copy should not be used for more than 24 hours. */
const ROBOTS_TTL_MS = 24 * 3600 * 1000;
/** RFC 9309, 2.3.1.2: at least five consecutive redirects. */
const ROBOTS_REDIRECTS_MAX = 5;

export type RobotsAnswer = RobotsOutcome['answer'];

export interface RobotsRules {
  allows(url: string): { readonly allowed: boolean };
  /** Null where the file names none. */
  readonly crawlDelayMs: number | null;
}

export type Gate =
  | { readonly kind: 'pass' }
  | { readonly kind: 'disallowed' }
  | { readonly kind: 'fetch'; readonly url: string }
  | { readonly kind: 'wait'; readonly untilMs: number }
  /** The owner of another host is asked; the visits are told. */
  | { readonly kind: 'asking' }
  /** Robots.txt stayed out of reach after all attempts; `reason` is '' where the server answered. */
  | { readonly kind: 'given-up'; readonly reason: string };

/** Where the rules of other hosts are asked for; absent: nowhere. */
export type AskOthers = Pick<RobotsAsks, 'begin' | 'isAsking'>;

interface Failed {
  readonly attempt: number;
  /** Undefined: no attempt is left. */
  readonly waitMs: number | undefined;
  readonly reason: string;
}

/** The robots state of one host while it is visited; forgotten when the visit ends. */
export class RobotsGate {
  readonly #store: FrontierStore;
  readonly #asks: AskOthers | undefined;
  readonly #host: Pick<HostRecord, 'number' | 'host'>;
  readonly #parse: (body: Uint8Array) => RobotsRules;
  readonly #chance: Chance;
  readonly #rules = new Map<string, { rules: RobotsRules; until: number }>();
  readonly #redirects = new Map<string, { url: string; hops: number }>();

  constructor(
    parts: {
      readonly store: FrontierStore;
      readonly asks?: AskOthers;
      readonly parseRobots: (body: Uint8Array) => RobotsRules;
      readonly chance: Chance;
    },
    host: Pick<HostRecord, 'number' | 'host'>,
  ) {
    this.#store = parts.store;
    this.#asks = parts.asks;
    this.#host = host;
    this.#parse = parts.parseRobots;
    this.#chance = parts.chance;
  }

  /** The longest that the files seen in this visit ask for; 0 where none does. */
  get crawlDelayMs(): number {
    return Math.max(0, ...[...this.#rules.values()].map(({ rules }) => rules.crawlDelayMs ?? 0));
  }

  check(url: string, now: number): Gate {
    const origin = originOf(url);
    const cached = this.#rules.get(origin);
    if (cached && now < cached.until) return verdict(cached.rules, url);
    const redirect = this.#redirects.get(origin);
    if (redirect) return { kind: 'fetch', url: redirect.url };
    if (this.#asks?.isAsking(this.#host.host, origin)) return { kind: 'asking' };
    const record = this.#store.robots(this.#host.number, origin);
    if (!record || !isYoung(record, now)) return fetchOf(origin);
    if (record.kind === 'unreachable') {
      if (record.retryAt === Infinity) return { kind: 'given-up', reason: errorOf(record) };
      const untilMs = believedWait(record.retryAt, now);
      return now < untilMs ? { kind: 'wait', untilMs } : fetchOf(origin);
    }
    return verdict(this.#read(origin, record), url);
  }

  #read(origin: string, { kind, body, fetchedAt }: RobotsRecord): RobotsRules {
    const rules = kind === 'rules' && body ? this.#parse(body) : ALLOW_ALL;
    this.#rules.set(origin, { rules, until: fetchedAt + ROBOTS_TTL_MS });
    return rules;
  }

  /**
   * Takes in the answer for `origin`. A redirect to another host is not followed: its owner is
   * asked for the rules there, where they are that host's own and the host is part of the crawl.
   *
   * @returns how long the host is to be left alone because of it, 0 if not at all
   */
  answered(origin: string, answer: RobotsAnswer, endedAt: number): number {
    this.#rules.delete(origin);
    const redirect = this.#redirects.get(origin);
    this.#redirects.delete(origin);
    if (answer.kind === 'unreachable') return this.#unreachable(origin, answer, endedAt);
    if (answer.kind === 'redirect') {
      const hops = (redirect?.hops ?? 0) + 1;
      const { host } = this.#host;
      const { location, origin: to } = answer;
      const isNear = hops <= ROBOTS_REDIRECTS_MAX;
      if (isNear && answer.host === host) this.#redirects.set(origin, { url: location, hops });
      else if (isNear && this.#asks && to !== undefined) {
        this.#asks.begin({ host, origin, to, hops, left: ROBOTS_REDIRECTS_MAX - hops }, endedAt);
        // For people, and as no attempt: after a restart the host itself is asked anew.
        const reason = `${REDIRECTED}${location}${OWNER_IS_ASKED}`;
        this.#failed(origin, { attempt: this.#attempt(origin) - 1, waitMs: 0, reason }, endedAt);
      } else {
        // Too many hops, or to what nobody asks for: unavailable (2.3.1.3).
        this.#save(origin, 'allowAll', endedAt, null, `${REDIRECTED}${location}`);
      }
      return 0;
    }
    const body = answer.kind === 'rules' ? answer.body : null;
    const reason = answer.kind === 'allowAll' ? answer.reason : '';
    this.#save(origin, answer.kind, endedAt, body, reason);
    return 0;
  }

  #unreachable(
    origin: string,
    answer: Extract<RobotsAnswer, { kind: 'unreachable' }>,
    endedAt: number,
  ): number {
    const attempt = this.#attempt(origin);
    const waitMs = waitBeforeAttempt(attempt, answer, this.#chance);
    this.#failed(origin, { attempt, waitMs, reason: answer.error ?? '' }, endedAt);
    return waitMs ?? 0;
  }

  /** Of those that failed in a row the next. */
  #attempt(origin: string): number {
    const last = this.#store.robots(this.#host.number, origin);
    return last?.kind === 'unreachable' && last.retryAt !== Infinity ? last.attempts + 1 : 1;
  }

  #failed(origin: string, { attempt, waitMs = Infinity, reason }: Failed, fetchedAt: number): void {
    this.#store.saveRobots(this.#host.number, origin, {
      ...{ kind: 'unreachable', fetchedAt, body: null, reason },
      ...{ attempts: attempt, retryAt: fetchedAt + waitMs },
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
        const attempt = this.#attempt(origin);
        const waitMs = word.final ? Infinity : RETRY_WAITS_MS[attempt - 1];
        return this.#failed(origin, { attempt, waitMs, reason }, at);
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
    this.#store.saveRobots(this.#host.number, origin, record);
    // At once: its Crawl-delay counts from this very request on.
    this.#read(origin, record);
  }
}

/** What is known of an origin's robots.txt, for the owner of a host whose own leads there. */
export function knownRobots(record: RobotsRecord, now: number): KnownRobots {
  return { word: wordOf(record), standing: standingOf(record, now) };
}

function wordOf({ kind, body, reason }: RobotsRecord): RobotsWord {
  switch (kind) {
    case 'rules':
      return { kind, reason, body: Buffer.from(body ?? []).toString('base64') };
    case 'allowAll':
      return { kind, reason };
    case 'unreachable':
      return { kind, reason, final: true };
  }
}

function standingOf(record: RobotsRecord, now: number): KnownRobots['standing'] {
  if (!isYoung(record, now)) return 'stale';
  return record.kind === 'unreachable' && record.retryAt !== Infinity ? 'retrying' : 'fresh';
}

/** An answer of a time to come is one of a clock that was set back. */
function isYoung({ fetchedAt }: RobotsRecord, now: number): boolean {
  return fetchedAt <= now && now - fetchedAt < ROBOTS_TTL_MS;
}

/** The host itself did not fail where another's rules could not be had. */
function errorOf({ reason }: RobotsRecord): string {
  return reason.startsWith(REDIRECTED) ? '' : reason;
}

const ALLOW_ALL: RobotsRules = { allows: () => ({ allowed: true }), crawlDelayMs: null };

function verdict(rules: RobotsRules, url: string): Gate {
  return rules.allows(url).allowed ? { kind: 'pass' } : { kind: 'disallowed' };
}

/** As for pages: what is busy, and what failed. Undefined: no attempt is left. */
function waitBeforeAttempt(
  attempt: number,
  { status, retryAfterMs }: Extract<RobotsAnswer, { kind: 'unreachable' }>,
  chance: Chance,
): number | undefined {
  if (!isBusy(status)) return RETRY_WAITS_MS[attempt - 1];
  return attempt < BUSY_ATTEMPTS_MAX ? busyWaitMs(retryAfterMs, attempt - 1, chance) : undefined;
}

function fetchOf(origin: string): Gate {
  return { kind: 'fetch', url: `${origin}/robots.txt` };
}

/** Scheme, host and port of a canonical URL. */
export function originOf(url: string): string {
  const end = url.indexOf('/', url.indexOf('://') + 3);
  return end < 0 ? url : url.slice(0, end);
}
