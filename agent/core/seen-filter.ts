// A bounded memory of URLs that were stored a short while ago, or taken by their owners, so that the
// many repeats of a site's navigation links cost no SQL, and no message. A URL enters only after the
// transaction that stored it (PROTOCOL-CASES C8): otherwise a page that is thrown away would take
// its links with it. Until then it counts for the rest of its own turn, which stands or falls with
// it. What is kept of a URL are 63 bits of a hash by a secret key, so that a look-up touches a
// cache line or two and no text (adr/0038).

import { HalfSipHash } from '../url/half-sip-hash.ts';

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

  /** `root` marks a sighting at depth 0, which may still lower the depth of a known URL. */
  has(url: string, root: boolean): boolean {
    const place = this.#find(url);
    if (place >= 0 && (!root || (this.#places[place]! & ROOT) !== 0)) return true;
    const seenAtRoot = this.#uncommitted.get(url);
    return root ? seenAtRoot === true : seenAtRoot !== undefined;
  }

  add(url: string, root: boolean): void {
    if (root || !this.#uncommitted.has(url)) this.#uncommitted.set(url, root);
  }

  committed(): void {
    for (const [url, root] of this.#uncommitted) this.#enter(url, root);
    this.#uncommitted.clear();
  }

  /** When hosts change owner: what was stored here may have left, and an owner with what it took. */
  clear(): void {
    this.#places.fill(0);
    this.#uncommitted.clear();
  }

  /** Where the URL is, below 0 where it is not; the hash is left in `#hash`. */
  #find(url: string): number {
    this.#hash.long(url);
    const low = this.#low();
    const high = this.#high();
    const bucket = this.#bucket();
    for (let way = 0; way < this.#ways; way++) {
      const at = bucket + way * WORDS;
      if (this.#places[at + 1] === high && (this.#places[at]! & ~ROOT) >>> 0 === low) return at;
    }
    return -1;
  }

  #enter(url: string, root: boolean): void {
    const places = this.#places;
    const known = this.#find(url);
    if (known >= 0) {
      if (root) places[known]! |= ROOT;
      return;
    }
    const bucket = this.#bucket();
    places.copyWithin(bucket + WORDS, bucket, bucket + (this.#ways - 1) * WORDS);
    places[bucket] = this.#low() | (root ? ROOT : 0);
    places[bucket + 1] = this.#high();
  }

  #low(): number {
    return (this.#hash.low & ~ROOT) >>> 0;
  }

  /** Never 0, by which an empty place is known. */
  #high(): number {
    return this.#hash.high === 0 ? 1 : this.#hash.high;
  }

  #bucket(): number {
    return ((this.#hash.low >>> 1) & this.#bucketMask) * this.#ways * WORDS;
  }
}
