// A bounded set of URLs that were stored recently or accepted by their owners, so that repeated links
// cost no SQL and no message. A URL enters after the commit that stored it; until then it counts only
// in its own turn, which would be rolled back with it. A URL is kept as 63 bits of a keyed hash, so a
// look-up touches a cache line or two and no text (adr/0037). Each agent has its own secret key. Once
// an agent has announced its key, the others keep the URLs of its hosts under that key, so it can
// announce its URLs by hash.

import { HalfSipHash } from '../../url/half-sip-hash.ts';
import type { AgentId } from '../protocol/messages.ts';

/** Places of a bucket, newest first. With two words each, a bucket is half a cache line. */
const WAYS_MAX = 4;
const WORDS = 2;
/** The bit in the first word of a place that says that the URL was seen at depth 0. */
const ROOT = 1;

export class SeenFilter {
  readonly #hash: HalfSipHash;
  readonly #ways: number;
  readonly #bucketMask: number;
  /** Two words for each place; both are 0 if it is empty. */
  readonly #places: Uint32Array;
  /** URLs stored in this turn; true: at depth 0. */
  readonly #uncommitted = new Map<string, boolean>();
  /** URLs that other agents have acknowledged in this turn. */
  readonly #taken: { readonly owner: AgentId; readonly url: string; readonly root: boolean }[] = [];
  /** The announced keys of other agents, for URLs of their hosts. */
  readonly #hashOfOwner = new Map<AgentId, { readonly key: number; readonly hash: HalfSipHash }>();

  /**
   * @param urlsMax - places, a power of two; a full bucket drops its oldest URL
   * @param key - a whole number below 2^53 that sites cannot know
   */
  constructor(urlsMax: number, key: number) {
    this.#hash = new HalfSipHash(key);
    this.#ways = Math.min(WAYS_MAX, urlsMax);
    this.#bucketMask = urlsMax / this.#ways - 1;
    this.#places = new Uint32Array(urlsMax * WORDS);
  }

  /**
   * @param root - the URL is now at depth 0, which may lower the depth of a known URL
   * @param owner - the other agent that owns its host; absent: this agent does
   */
  has(url: string, root: boolean, owner?: AgentId): boolean {
    const hash = this.#hashOf(owner);
    hash.long(url);
    const place = this.#placeOf(hash.low, hash.high);
    if (place >= 0 && (!root || (this.#places[place]! & ROOT) !== 0)) return true;
    const seenAtRoot = this.#uncommitted.get(url);
    return root ? seenAtRoot === true : seenAtRoot !== undefined;
  }

  add(url: string, root: boolean): void {
    if (root || !this.#uncommitted.has(url)) this.#uncommitted.set(url, root);
  }

  /** Its owner has acknowledged the URL. */
  addTaken(owner: AgentId, url: string, root: boolean): void {
    this.#taken.push({ owner, url, root });
  }

  committed(): void {
    for (const [url, root] of this.#uncommitted) this.#enter(url, this.#hash, root);
    this.#uncommitted.clear();
    for (const { owner, url, root } of this.#taken) this.#enter(url, this.#hashOf(owner), root);
    this.#taken.length = 0;
  }

  /** Sets the key of another agent. URLs of its hosts under a previous key are no longer found. */
  keyOf(owner: AgentId, key: number): void {
    if (this.#hashOfOwner.get(owner)?.key === key) return;
    this.#hashOfOwner.set(owner, { key, hash: new HalfSipHash(key) });
  }

  #hashOf(owner: AgentId | undefined): HalfSipHash {
    return (owner === undefined ? undefined : this.#hashOfOwner.get(owner)?.hash) ?? this.#hash;
  }

  /** The hash by the key of this agent, for `told` at other agents. */
  hashOf(url: string): { readonly low: number; readonly high: number } {
    this.#hash.long(url);
    return this.#hash;
  }

  /** An owner has announced that it knows the URL with this hash, by its key, at depth 0. */
  told(low: number, high: number): void {
    this.#put(low, high, true);
  }

  /** Called when hosts change owner: stored URLs may be elsewhere, accepted ones may be lost. */
  clear(): void {
    this.#places.fill(0);
    this.#uncommitted.clear();
    this.#taken.length = 0;
  }

  /** The index of the place; -1: the URL is not here. */
  #placeOf(hashLow: number, hashHigh: number): number {
    const low = lowOf(hashLow);
    const high = highOf(hashHigh);
    const bucket = this.#bucketOf(hashLow);
    for (let way = 0; way < this.#ways; way++) {
      const at = bucket + way * WORDS;
      if (this.#places[at + 1] === high && (this.#places[at]! & ~ROOT) >>> 0 === low) return at;
    }
    return -1;
  }

  #enter(url: string, hash: HalfSipHash, root: boolean): void {
    hash.long(url);
    this.#put(hash.low, hash.high, root);
  }

  #put(hashLow: number, hashHigh: number, root: boolean): void {
    const places = this.#places;
    const known = this.#placeOf(hashLow, hashHigh);
    if (known >= 0) {
      if (root) places[known]! |= ROOT;
      return;
    }
    const bucket = this.#bucketOf(hashLow);
    places.copyWithin(bucket + WORDS, bucket, bucket + (this.#ways - 1) * WORDS);
    places[bucket] = lowOf(hashLow) | (root ? ROOT : 0);
    places[bucket + 1] = highOf(hashHigh);
  }

  #bucketOf(hashLow: number): number {
    return ((hashLow >>> 1) & this.#bucketMask) * this.#ways * WORDS;
  }
}

/** Clears the bit that `ROOT` uses. */
function lowOf(hashLow: number): number {
  return (hashLow & ~ROOT) >>> 0;
}

/** Never 0, which marks an empty place. */
function highOf(hashHigh: number): number {
  return hashHigh === 0 ? 1 : hashHigh;
}
