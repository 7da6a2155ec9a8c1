// A bounded memory of URLs that were stored a short while ago, or taken by their owners, so that the
// many repeats of a site's navigation links cost no SQL, and no message. Two generations: when the
// young one is full it becomes the old one, so the last N to 2N URLs are remembered. A URL enters
// only after the transaction that stored it (PROTOCOL-CASES C8): otherwise a page that is thrown
// away would take its links with it. Until then it counts for the rest of its own turn, which stands
// or falls with it.

/** URLs, each with whether it was seen at depth 0. */
type Sightings = Map<string, boolean>;

export class SeenFilter {
  readonly #generationMax: number;
  #young: Sightings = new Map();
  #old: Sightings = new Map();
  readonly #uncommitted: Sightings = new Map();

  /** @param generationMax - URLs of one generation, by which it ends */
  constructor(generationMax: number) {
    this.#generationMax = generationMax;
  }

  /** `root` marks a sighting at depth 0, which may still lower the depth of a known URL. */
  has(url: string, root: boolean): boolean {
    return (
      isIn(this.#young, url, root) ||
      isIn(this.#old, url, root) ||
      isIn(this.#uncommitted, url, root)
    );
  }

  add(url: string, root: boolean): void {
    if (root || !this.#uncommitted.has(url)) this.#uncommitted.set(url, root);
  }

  committed(): void {
    for (const [url, root] of this.#uncommitted) {
      if (root || !this.#young.has(url)) this.#young.set(url, root);
    }
    this.#uncommitted.clear();
    if (this.#young.size < this.#generationMax) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  /** When hosts change owner: what was stored here may have left, and an owner with what it took. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#uncommitted.clear();
  }
}

function isIn(sightings: Sightings, url: string, root: boolean): boolean {
  const seenAtRoot = sightings.get(url);
  return root ? seenAtRoot === true : seenAtRoot !== undefined;
}
