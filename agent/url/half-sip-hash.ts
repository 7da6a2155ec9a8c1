// A keyed hash of short texts: HalfSipHash-1-3 over their UTF-16 units. It says in which slot of its
// host a URL is looked for (storage/encoding/url-ids.ts) and which URLs came a short while ago
// (core/exchange/seen-filter.ts), tens of thousands of times a second, and sites choose the texts: without a
// key somebody could write links that all fall into one slot, or one that passes for another.
// SHA-256 would do as well at three times the price. After Aumasson and Bernstein, "SipHash: a fast
// short-input PRF".

export class HalfSipHash {
  readonly #k0: number;
  readonly #k1: number;
  /** Of the last text, where it was given to `long`: the first and the last 32 bits, unsigned. */
  low = 0;
  high = 0;

  /** @param key - a whole number below 2^53; another one gives unrelated hashes */
  constructor(key: number) {
    this.#k0 = key | 0;
    this.#k1 = Math.floor(key / 2 ** 32) | 0;
  }

  /** Of `text`: an unsigned integer of 32 bits. */
  of(text: string): number {
    this.#run(text, false);
    return this.low;
  }

  /** Leaves 64 bits in `low` and `high`, which are not those of `of`. */
  long(text: string): void {
    this.#run(text, true);
  }

  #run(text: string, isLong: boolean): void {
    let v0 = this.#k0;
    let v1 = this.#k1;
    let v2 = 0x6c796765 ^ v0;
    let v3 = 0x74656462 ^ v1;
    if (isLong) v1 ^= 0xee;
    const words = (text.length >> 1) + 1;
    const rounds = words + (isLong ? 6 : 3);
    // The words of the text, the last with its length; then three rounds for each 32 bits.
    for (let round = 0; round < rounds; round++) {
      let m = 0;
      if (round < words) m = wordOf(text, round);
      else if (round === words) v2 ^= isLong ? 0xee : 0xff;
      else if (round === words + 3) {
        this.low = (v1 ^ v3) >>> 0;
        v1 ^= 0xdd;
      }
      v3 ^= m;
      v0 = (v0 + v1) | 0;
      v1 = (v1 << 5) | (v1 >>> 27);
      v1 ^= v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = (v3 << 8) | (v3 >>> 24);
      v3 ^= v2;
      v0 = (v0 + v3) | 0;
      v3 = (v3 << 7) | (v3 >>> 25);
      v3 ^= v0;
      v2 = (v2 + v1) | 0;
      v1 = (v1 << 13) | (v1 >>> 19);
      v1 ^= v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= m;
    }
    if (isLong) this.high = (v1 ^ v3) >>> 0;
    else this.low = (v1 ^ v3) >>> 0;
  }
}

/** Two units of the text; the last word has its length in bytes above what is left of it. */
function wordOf(text: string, word: number): number {
  const at = word * 2;
  if (at + 1 < text.length) return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
  const left = at < text.length ? text.charCodeAt(at) : 0;
  return left | ((text.length * 2) << 24);
}
