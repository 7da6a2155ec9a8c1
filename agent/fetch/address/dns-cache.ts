/**
 * A look-up that remembers. Each name is asked for once at a time, however many wait for it, and
 * its answer serves for the time that its server gave, within bounds; that there is none is
 * remembered too, briefly where the resolver itself failed, since an outage ends while a missing
 * name stays missing. `agent.ts` puts one between the resolver and the dialer.
 */

import type { Lookup, ResolvedAddress } from './dial.ts';

/** A resolver's answer; `ttlMs` null where it does not know (the hosts file). */
export interface DnsAnswer {
  readonly addresses: readonly ResolvedAddress[];
  readonly ttlMs: number | null;
}

/** Asks for a name anew. Rejects or is empty where there is no address. */
export type Resolve = (hostname: string) => Promise<DnsAnswer>;

export interface DnsCacheOptions {
  readonly resolve: Resolve;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Answers are kept at least so long, whatever their server says… */
  readonly ttlMinMs: number;
  /** …and at most so long. */
  readonly ttlMaxMs: number;
  /** How long it is remembered that a name does not exist. */
  readonly negativeTtlMs: number;
  /** {@link NAMES_MAX} by default. */
  readonly namesMax?: number;
}

/** Some 200 bytes each. A name that left for a newer one is asked for again, nothing worse. */
const NAMES_MAX = 20_000;
/** RFC 9520: failures of resolution are cached for at least 1 s, and no longer than 5 minutes. */
const FAILURE_TTL_MS = 5000;
/** The resolver said so, rather than having failed to find out. */
const NO_SUCH_NAME: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

type Outcome =
  | { readonly kind: 'found'; readonly addresses: readonly ResolvedAddress[] }
  | { readonly kind: 'failed'; readonly error: unknown };

interface Entry {
  readonly outcome: Outcome;
  readonly until: number;
}

/** @returns a look-up that shares and remembers the answers of `options.resolve`. */
export function cachedLookup(options: DnsCacheOptions): Lookup {
  const cache = new DnsCache(options);
  return (hostname) => cache.lookup(hostname);
}

class DnsCache {
  readonly #options: DnsCacheOptions;
  /** Oldest first; filled by answers, emptied by the bound and by age. */
  readonly #entries = new Map<string, Entry>();
  /** One a name being asked for: bounded by the visit threads and the resolver's own time-out. */
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

  /** Never rejects: who waits together is told together. */
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
