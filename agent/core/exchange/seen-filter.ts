// A bounded memory of URLs that were stored a short while ago, or taken by their owners, so that the
// many repeats of a site's navigation links cost no SQL, and no message. A URL enters only after the
// transaction that stored it: otherwise a page that is thrown away would take
// its links with it. Until then it counts for the rest of its own turn, which stands or falls with
// it. What is kept of a URL are 63 bits of a hash by a secret key, so that a look-up touches a
// cache line or two and no text (adr/0037). Each agent has a key of its own, and the URLs of its
// hosts are kept under it everywhere once it has told it: so it can tell what it has by hashes,
// which match nothing under another key but by chance, or by a peer's malice.

import { HalfSipHash } from '../../url/half-sip-hash.ts';
import type { AgentId } from '../protocol/messages.ts';

/** Places in which a URL may be, the newest first: with two words each, half a cache line. */
const WAYS_MAX = 4;
const WORDS = 2;
/** In the first word of a place: whether the URL was seen at depth 0. */
const ROOT = 1;

export class SeenFilter {
  readonly #hash: HalfSipHash;
  readonly #ways: number;
  readonly #bucketMask: number;
  /** Two words for each place, both 0 where it is empty. */
  readonly #places: Uint32Array;
  readonly #uncommitted = new Map<string, boolean>();
  /** URLs that other agents have taken in this turn. */
  readonly #taken: { readonly owner: AgentId; readonly url: string; readonly root: boolean }[] = [];
  /** By the keys of other agents, for URLs of their hosts. */
  readonly #hashOfOwner = new Map<AgentId, { readonly key: number; readonly hash: HalfSipHash }>();

  /**
   * @param urlsMax - places, a power of two; in each bucket of four the oldest gives way
   * @param key - a whole number below 2^53 that sites cannot know
   */
  constructor(urlsMax: number, key: number) {
    this.#hash = new HalfSipHash(key);
    this.#ways = Math.min(WAYS_MAX, urlsMax);
    this.#bucketMask = urlsMax / this.#ways - 1;
    this.#places = new Uint32Array(urlsMax * WORDS);
  }

  /**
   * `root` marks a sighting at depth 0, which may still lower the depth of a known URL; `owner`: the
   * other agent that has its host.
   */
  has(url: string, root: boolean, owner?: AgentId): boolean {
    const place = this.#find(url, this.#hashOf(owner));
    if (place >= 0 && (!root || (this.#places[place]! & ROOT) !== 0)) return true;
    const seenAtRoot = this.#uncommitted.get(url);
    return root ? seenAtRoot === true : seenAtRoot !== undefined;
  }

  add(url: string, root: boolean): void {
    if (root || !this.#uncommitted.has(url)) this.#uncommitted.set(url, root);
  }

  /** Its owner has it. */
  addTaken(owner: AgentId, url: string, root: boolean): void {
    this.#taken.push({ owner, url, root });
  }

  committed(): void {
    for (const [url, root] of this.#uncommitted) this.#enter(url, this.#hash, root);
    this.#uncommitted.clear();
    for (const { owner, url, root } of this.#taken) this.#enter(url, this.#hashOf(owner), root);
    this.#taken.length = 0;
  }

  /** The key of another agent; what was kept of its URLs under another is not found any more. */
  keyOf(owner: AgentId, key: number): void {
    if (this.#hashOfOwner.get(owner)?.key === key) return;
    this.#hashOfOwner.set(owner, { key, hash: new HalfSipHash(key) });
  }

  #hashOf(owner: AgentId | undefined): HalfSipHash {
    return (owner === undefined ? undefined : this.#hashOfOwner.get(owner)?.hash) ?? this.#hash;
  }

  /** By the key of this agent: 64 bits, as `told` takes them. */
  hashOf(url: string): { readonly low: number; readonly high: number } {
    this.#hash.long(url);
    return this.#hash;
  }

  /** An owner has a URL of that hash by its key, and knows it at depth 0. */
  told(low: number, high: number): void {
    this.#put(low, high, true);
  }

  /** When hosts change owner: what was stored here may have left, and an owner with what it took. */
  clear(): void {
    this.#places.fill(0);
    this.#uncommitted.clear();
    this.#taken.length = 0;
  }

  /** Where the URL is, below 0 where it is not. */
  #find(url: string, hash: HalfSipHash): number {
    hash.long(url);
    return this.#placeOf(hash.low, hash.high);
  }

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

/** Without the bit that says where it was seen. */
function lowOf(hashLow: number): number {
  return (hashLow & ~ROOT) >>> 0;
}

/** Never 0, by which an empty place is known. */
function highOf(hashHigh: number): number {
  return hashHigh === 0 ? 1 : hashHigh;
}
