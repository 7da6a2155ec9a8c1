// Whether robots.txt lets a URL be fetched, and when robots.txt itself must be fetched first: one
// file for each origin (scheme, host, port), asked for before the first page, again after 24 hours,
// and with growing waits while the server will not or cannot answer (RFC 9309: unreachable means
// that everything is disallowed for now). Used by the visits; the rules are read by the port.

import type { RobotsOutcome } from '../core/outcome.ts';
import {
  BUSY_ATTEMPTS_MAX,
  believedWait,
  busyWaitMs,
  type Chance,
  isBusy,
  RETRY_WAITS_MS,
} from './retry.ts';
import type { FrontierStore, RobotsRecord } from './store.ts';

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
  /** Robots.txt stayed out of reach after all attempts; `reason` is '' where the server answered. */
  | { readonly kind: 'given-up'; readonly reason: string };

/** The robots state of one host while it is visited; forgotten when the visit ends. */
export class RobotsGate {
  readonly #store: FrontierStore;
  readonly #hostNumber: number;
  readonly #parse: (body: Uint8Array) => RobotsRules;
  readonly #chance: Chance;
  readonly #rules = new Map<string, { rules: RobotsRules; until: number }>();
  readonly #redirects = new Map<string, { url: string; hops: number }>();

  constructor(
    parts: {
      readonly store: FrontierStore;
      readonly parseRobots: (body: Uint8Array) => RobotsRules;
      readonly chance: Chance;
    },
    hostNumber: number,
  ) {
    this.#store = parts.store;
    this.#hostNumber = hostNumber;
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
    const record = this.#store.robots(this.#hostNumber, origin);
    // An answer of a time to come is one of a clock that was set back.
    const ageMs = record ? now - record.fetchedAt : Infinity;
    if (!record || ageMs < 0 || ageMs >= ROBOTS_TTL_MS) return fetchOf(origin);
    if (record.kind === 'unreachable') {
      if (record.retryAt === Infinity) return { kind: 'given-up', reason: record.reason };
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
   * Takes in the answer for `origin`.
   *
   * @param host - the host visited; a redirect to any other is not followed
   * @returns how long the host is to be left alone because of it, 0 if not at all
   */
  answered(origin: string, answer: RobotsAnswer, endedAt: number, host: string): number {
    this.#rules.delete(origin);
    const redirect = this.#redirects.get(origin);
    this.#redirects.delete(origin);
    if (answer.kind === 'unreachable') return this.#unreachable(origin, answer, endedAt);
    if (answer.kind === 'redirect') {
      const hops = (redirect?.hops ?? 0) + 1;
      if (answer.host === host && hops <= ROBOTS_REDIRECTS_MAX) {
        this.#redirects.set(origin, { url: answer.location, hops });
      } else {
        // Too many hops, or another host, which belongs to another visit: unavailable (2.3.1.3).
        this.#save(origin, 'allowAll', endedAt, null, `redirected to ${answer.location}`);
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
    const last = this.#store.robots(this.#hostNumber, origin);
    const before = last?.kind === 'unreachable' && last.retryAt !== Infinity ? last.attempts : 0;
    const waitMs = waitBeforeAttempt(before + 1, answer, this.#chance);
    this.#store.saveRobots(this.#hostNumber, origin, {
      kind: 'unreachable',
      fetchedAt: endedAt,
      body: null,
      attempts: before + 1,
      retryAt: waitMs === undefined ? Infinity : endedAt + waitMs,
      reason: answer.error ?? '',
    });
    return waitMs ?? 0;
  }

  #save(
    origin: string,
    kind: RobotsRecord['kind'],
    fetchedAt: number,
    body: Uint8Array | null,
    reason: string,
  ): void {
    const record = { kind, fetchedAt, body, attempts: 0, retryAt: 0, reason };
    this.#store.saveRobots(this.#hostNumber, origin, record);
    // At once: its Crawl-delay counts from this very request on.
    this.#read(origin, record);
  }
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
