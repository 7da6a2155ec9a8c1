// A network with more hosts than it can visit gives some of them to one that is at rest. The giver
// reserves the gift with the mark of the other network. Then its URLs count as claimed elsewhere, so
// those of a gift that is lost or refused are asked about again. The other network's centre routes
// the URLs in its cluster as new ones. Both agents commit their changes to the store before they send
// the commands to Redis that depend on these changes.

import type { Instant } from '../../../failure-detector/instant.ts';
import { digestOf } from '../digests.ts';
import { Loop } from '../loop.ts';
import type { NetworkParts } from '../network-settings.ts';
import type { GivenUrl, Pools } from '../pools.ts';

export interface GiftStore {
  /** Hosts without open request, first those in a visit; none if this agent has few URLs. */
  spareHosts(): readonly string[];
  /** Makes queued URLs of a host claimed by the other network, at most `max`. */
  give(host: string, network: string, max: number): readonly GivenUrl[];
  /** URLs that another network gives. */
  accept(urls: readonly GivenUrl[]): void;
}

interface GiftsParts extends NetworkParts {
  readonly store: GiftStore;
  readonly isLeading: () => boolean;
  /** The own mark as last read. */
  readonly mark: () => string;
}

interface Gift {
  readonly network: string;
  readonly urls: readonly GivenUrl[];
}

/** Spare hosts that an agent keeps at least; it also keeps half. */
const KEPT_MIN = 1;
const URLS_MAX = 500;
const CHARS_MAX = 200_000;
/** A host is given once, as far as this agent remembers. */
const HOSTS_REMEMBERED = 10_000;
const ENTRIES_MAX = 4;
/** How often in `leaseMs` an agent looks for gifts, and for a network that is to get one. */
const LOOKS_PER_LEASE = 12;

export class Gifts {
  readonly #p: GiftsParts;
  readonly #own: Pools;
  readonly #loop: Loop;
  #marks = 0;
  /** The network that has been promised a gift. */
  #promised: string | null = null;
  /** Taken from the store in this turn, so not committed yet. */
  #taken: Gift | null = null;
  /** Committed, and not yet sent. */
  #open: Gift | null = null;
  /** The hosts that this agent has given. */
  readonly #given = new Set<string>();
  /** There may be gifts for this network. */
  #mayHave = true;
  /** Gifts that were read from Redis, and are not in the store yet. */
  #arrived: { readonly id: string; readonly urls: readonly GivenUrl[] }[] = [];
  /** Gifts that the store took in this turn, so not committed yet. */
  #accepted: string[] = [];
  /** Committed gifts, to be removed from Redis. */
  #stored: string[] = [];
  readonly #counts = { given: 0, received: 0 };

  constructor(parts: GiftsParts) {
    this.#p = parts;
    this.#own = parts.pools.get(parts.settings.network)!;
    const { wake, onError } = parts;
    this.#loop = new Loop({ run: () => this.#step(), wake, onError });
  }

  pump(now: Instant): void {
    this.#open ??= this.#taken;
    this.#taken = null;
    this.#stored.push(...this.#accepted.splice(0));
    if (this.#promised !== null) this.#take(this.#promised);
    this.#promised = null;
    for (const { id, urls } of this.#arrived.splice(0)) {
      this.#p.store.accept(urls);
      this.#accepted.push(id);
      this.#counts.received += urls.length;
    }
    if (this.#taken !== null || this.#accepted.length > 0) this.#p.wake();
    // Another centre receives these gifts again, and removes them.
    if (!this.#p.isLeading()) this.#stored = [];
    if (this.#open !== null || this.#stored.length > 0) this.#loop.kick();
    this.#loop.pump(now);
  }

  nextAtMs(): number {
    return this.#loop.nextAtMs();
  }

  counts() {
    return { ...this.#counts };
  }

  /** The hosts to give: at most half of the spare ones, and none that was given before. */
  #toGive(): readonly string[] {
    const spare = this.#p.store.spareHosts();
    const many = Math.floor(Math.min(spare.length / 2, spare.length - KEPT_MIN));
    return many <= 0 ? [] : spare.filter((host) => !this.#given.has(host)).slice(-many);
  }

  #take(network: string): void {
    const urls: GivenUrl[] = [];
    let chars = 0;
    for (const host of this.#toGive()) {
      if (urls.length >= URLS_MAX || chars >= CHARS_MAX) break;
      const some = this.#p.store.give(host, network, URLS_MAX - urls.length);
      for (const { url, referrer = '' } of some) chars += url.length + referrer.length;
      urls.push(...some);
      if (this.#given.size < HOSTS_REMEMBERED) this.#given.add(host);
    }
    if (urls.length > 0) this.#taken = { network, urls };
  }

  async #step(): Promise<number> {
    const { leaseMs } = this.#p.settings;
    if (this.#open !== null) await this.#send(this.#open);
    if (this.#p.mark().startsWith('work gift')) this.#mayHave = true;
    if (this.#p.isLeading() && this.#mayHave) await this.#receive();
    const isFree = this.#promised === null && this.#taken === null && this.#open === null;
    if (isFree) await this.#offer();
    return leaseMs / LOOKS_PER_LEASE;
  }

  /** A failed gift is not repeated; its URLs are asked about again. */
  async #send({ network, urls }: Gift): Promise<void> {
    this.#open = null;
    await this.#own.release(urls.map(({ url }) => digestOf(url, this.#p.sha256)));
    await this.#p.pools.get(network)!.give(urls, this.#next('gift'));
    this.#counts.given += urls.length;
  }

  async #receive(): Promise<void> {
    const stored = this.#stored.splice(0);
    if (stored.length > 0) await this.#own.received(stored, this.#next('received'));
    const waiting = new Set([...this.#arrived.map(({ id }) => id), ...this.#accepted]);
    const gifts = await this.#own.gifts(ENTRIES_MAX);
    this.#mayHave = gifts.length > 0;
    for (const gift of gifts) if (!waiting.has(gift.id)) this.#arrived.push(gift);
  }

  async #offer(): Promise<void> {
    // A promise wakes the other network.
    if (this.#toGive().length === 0) return;
    const { networks, network } = this.#p.settings;
    for (const other of networks) {
      if (other === network) continue;
      const pools = this.#p.pools.get(other)!;
      const { mark, hasCentre } = await pools.presence();
      if (!hasCentre || !mark.startsWith('rest ')) continue;
      const promise = this.#next('gift');
      if ((await pools.mark(mark, promise)) !== promise) continue;
      this.#promised = other;
      return;
    }
  }

  #next(what: string): string {
    return `work ${what} ${this.#p.token}/${++this.#marks}`;
  }
}
