/**
 * A caching look-up. At most one query per name runs at a time, and all callers share its answer.
 * An answer is kept for its TTL, within limits. A missing name is cached too. A failure of the
 * resolver is cached for a shorter time, because an outage ends while a missing name stays missing.
 */

import type { Lookup, ResolvedAddress } from './dial.ts';

/** A resolver's answer. `ttlMs` is null if the TTL is unknown (hosts file). */
export interface DnsAnswer {
  readonly addresses: readonly ResolvedAddress[];
  readonly ttlMs: number | null;
}

/** Queries a name. Rejects or gives no addresses if there are none. */
export type Resolve = (hostname: string) => Promise<DnsAnswer>;

export interface DnsCacheOptions {
  readonly resolve: Resolve;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Lower limit on the time that an answer is kept, in ms. */
  readonly ttlMinMs: number;
  /** Upper limit on the time that an answer is kept, in ms. */
  readonly ttlMaxMs: number;
  /** Time in ms for which a missing name is cached. */
  readonly negativeTtlMs: number;
  /** {@link NAMES_MAX} by default. */
  readonly namesMax?: number;
}

/** Limit on the cached names, at some 200 bytes each. An evicted name is only queried again. */
const NAMES_MAX = 20_000;
/** Time in ms for which a failure is cached. RFC 9520 demands 1 s to 5 minutes. */
const FAILURE_TTL_MS = 5000;
/** Codes with which the resolver reports that the name has no address, unlike a failed query. */
const NO_SUCH_NAME: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

type Outcome =
  | { readonly kind: 'found'; readonly addresses: readonly ResolvedAddress[] }
  | { readonly kind: 'failed'; readonly error: unknown };

interface Entry {
  readonly outcome: Outcome;
  readonly until: number;
}

/** @returns a look-up that caches the answers of `options.resolve`. */
export function cachedLookup(options: DnsCacheOptions): Lookup {
  const cache = new DnsCache(options);
  return (hostname) => cache.lookup(hostname);
}

class DnsCache {
  readonly #options: DnsCacheOptions;
  /** Oldest first. Filled by answers, emptied by the limit and by age. */
  readonly #entries = new Map<string, Entry>();
  /** Running queries by name. Limits: the visit threads, and the timeout of the resolver. */
  readonly #asking = new Map<string, Promise<Outcome>>();

  constructor(options: DnsCacheOptions) {
    this.#options = options;
  }

  async lookup(hostname: string): Promise<readonly ResolvedAddress[]> {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    const outcome = this.#remembered(name) ?? (await this.#ask(name));
    if (outcome.kind === 'failed') throw outcome.error;
    return outcome.addresses;
  }

  #remembered(name: string): Outcome | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.until > this.#options.now()) return entry?.outcome;
    this.#entries.delete(name);
    return undefined;
  }

  #ask(name: string): Promise<Outcome> {
    const running = this.#asking.get(name);
    if (running !== undefined) return running;
    const asked = this.#answer(name).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asked);
    return asked;
  }

  /** Never rejects, so that all callers share one outcome. */
  async #answer(name: string): Promise<Outcome> {
    const { ttlMinMs, ttlMaxMs, negativeTtlMs } = this.#options;
    try {
      const { addresses, ttlMs } = await this.#options.resolve(name);
      const found: Outcome = { kind: 'found', addresses };
      const keptMs = Math.min(Math.max(ttlMs ?? ttlMinMs, ttlMinMs), ttlMaxMs);
      return this.#keep(name, found, addresses.length === 0 ? negativeTtlMs : keptMs);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
      const missing = NO_SUCH_NAME.has(code);
      const failed: Outcome = { kind: 'failed', error };
      return this.#keep(name, failed, missing ? negativeTtlMs : FAILURE_TTL_MS);
    }
  }

  #keep(name: string, outcome: Outcome, keptMs: number): Outcome {
    const { namesMax = NAMES_MAX, now } = this.#options;
    this.#entries.set(name, { outcome, until: now() + keptMs });
    if (this.#entries.size > namesMax) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest!);
    }
    return outcome;
  }
}
