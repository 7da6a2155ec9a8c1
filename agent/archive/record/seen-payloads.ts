// The payloads that this agent has archived, by digest. An equal payload is written as a revisit
// that refers to the first record. The number of payloads is limited: the oldest is dropped, which
// only costs disk space. After a restart the newest index files fill it.

/** Limit on the payloads, of some 250 bytes each: 12 MB at most. */
const SEEN_MAX = 50_000;

/** The record that holds the payload. */
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
