// A cache of preference lists. Most links of a page point to a few hosts, and a map look-up costs
// far less than a hash and a search. The cache has two generations. When the young one is full, it
// replaces the old one; hosts that were not used in the meantime are then discarded.

/** Limits memory: two full generations with lists of three agents take about 10 MB. */
const generationHostsMax = 32_768;

/**
 * Minimum length of a computed preference list: the owner, the lease grantor and one more backup.
 * Computing them together is cheaper, because most of the cost is to find the place of the host.
 */
const orderAhead = 3;

/** Maps a host to the first agents of its preference list. Holds at most 65,536 hosts. */
export class RecentOrders {
  #young = new Map<string, readonly string[]>();
  #old = new Map<string, readonly string[]>();

  /**
   * At least the first `count` agents of the host's list, or all if there are fewer. `compute`
   * returns such a list if the cache has too few agents.
   */
  first(
    host: string,
    count: number,
    compute: (host: string, count: number) => readonly string[],
  ): readonly string[] {
    const recent = this.get(host);
    if (recent !== undefined && recent.length >= count) return recent;
    const order = compute(host, Math.max(count, orderAhead));
    this.set(host, order);
    return order;
  }

  get(host: string): readonly string[] | undefined {
    const young = this.#young.get(host);
    if (young !== undefined) return young;
    const old = this.#old.get(host);
    if (old !== undefined) this.set(host, old);
    return old;
  }

  set(host: string, order: readonly string[]): void {
    if (this.#young.size >= generationHostsMax && !this.#young.has(host)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(host, order);
  }
}
