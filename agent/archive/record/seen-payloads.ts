// The payloads that this agent has archived, by digest. An equal payload is written as a revisit
// that refers to the first record, as long as its file exists. The number of payloads is limited:
// the oldest is dropped, which only costs disk space. After a restart the newest index files fill it.

import type { Original } from './capture.ts';

/** Limit on the payloads, of some 250 bytes each: 12 MB at most. */
const SEEN_MAX = 50_000;

export class SeenPayloads {
  readonly #originals = new Map<string, Original>();
  readonly #max: number;

  constructor(max = SEEN_MAX) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#originals.size >= this.#max;
  }

  /** @param isKept - whether a file of the archive exists; an original without file is dropped */
  find(digest: string, isKept: (file: string) => boolean): Original | undefined {
    const original = this.#originals.get(digest);
    if (original === undefined || isKept(original.file)) return original;
    this.#originals.delete(digest);
    return undefined;
  }

  add(digest: string, original: Original): void {
    if (this.#originals.has(digest)) return;
    if (this.isFull) {
      const [oldest] = this.#originals.keys();
      if (oldest !== undefined) this.#originals.delete(oldest);
    }
    this.#originals.set(digest, original);
  }
}
