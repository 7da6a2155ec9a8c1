// A keyed hash of short texts: HalfSipHash-1-3 over their UTF-16 units (Aumasson and Bernstein,
// "SipHash: a fast short-input PRF"). It finds the row id of a URL (storage/encoding/url-ids.ts)
// and recognises URLs seen recently (core/exchange/seen-filter.ts), tens of thousands of times a
// second. Sites choose the texts, so without a key an attacker could write links with colliding
// hashes. SHA-256 would cost three times as much.

export class HalfSipHash {
  readonly #k0: number;
  readonly #k1: number;
  /** Hash of the last text given to `long`: its first and last 32 bits, unsigned. */
  low = 0;
  high = 0;

  /** @param key - an integer from 0 to 2^53 - 1; different keys give unrelated hashes */
  constructor(key: number) {
    this.#k0 = key | 0;
    this.#k1 = Math.floor(key / 2 ** 32) | 0;
  }

  /** @returns the hash of `text`, an unsigned 32-bit integer */
  of(text: string): number {
    this.#run(text, false);
    return this.low;
  }

  /** Stores a 64-bit hash in `low` and `high`. It is unrelated to the result of `of`. */
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
    // Processes the 32-bit words of the text (the last one includes the length), then three
    // finalisation rounds per 32 bits of output.
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

/** @returns two units of the text; the last word has the length in bytes in its top byte */
function wordOf(text: string, word: number): number {
  const at = word * 2;
  if (at + 1 < text.length) return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
  const left = at < text.length ? text.charCodeAt(at) : 0;
  return left | ((text.length * 2) << 24);
}
