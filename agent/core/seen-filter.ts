// A bounded memory of URLs that were stored a short while ago, so that the many repeats of a
// site's navigation links cost no SQL. Two generations: when the young one is full it becomes the
// old one, so the last N to 2N URLs are remembered. A URL enters only after the transaction that
// stored it (PROTOCOL-CASES C8): otherwise a page that is thrown away would take its links with it.

/** About 20 MB of strings at two generations; a few pages' worth of links for every thread. */
const GENERATION_MAX = 32_768;

export class SeenFilter {
  #young = new Set<string>();
  #old = new Set<string>();
  #uncommitted: string[] = [];

  /** `root` marks a sighting at depth 0, which may still lower the depth of a known URL. */
  has(url: string, root: boolean): boolean {
    const key = root ? `0${url}` : url;
    return this.#young.has(key) || this.#old.has(key);
  }

  add(url: string, root: boolean): void {
    this.#uncommitted.push(url);
    if (root) this.#uncommitted.push(`0${url}`);
  }

  committed(): void {
    for (const key of this.#uncommitted) this.#young.add(key);
    this.#uncommitted.length = 0;
    if (this.#young.size < GENERATION_MAX) return;
    this.#old = this.#young;
    this.#young = new Set();
  }

  /** Everything is forgotten when hosts change owner: what was stored here may have left. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#uncommitted.length = 0;
  }
}
