// Payloads that this agent has archived, by digest, so that an equal one is written as a revisit
// that points to the first instead of the bytes again. Bounded: the longest known is forgotten,
// which costs space and nothing else. After a restart it is filled from the newest index files.

/** Some 250 bytes each: 12 MB at most. */
const SEEN_MAX = 50_000;

/** The record that has the payload. */
export interface Original {
  readonly url: string;
  readonly date: string;
}

export class SeenPayloads {
  readonly #originals = new Map<string, Original>();
  readonly #max: number;

  constructor(max = SEEN_MAX) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#originals.size >= this.#max;
  }

  find(digest: string): Original | undefined {
    return this.#originals.get(digest);
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
