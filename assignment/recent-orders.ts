// The orders of the hosts lately asked for, within one ring: most links of a page point to a few
// hosts, and a look-up in a map costs far less than a hash and a search. Two generations make it
// cheap and bounded: a full young one becomes the old one, and what nobody asked for meanwhile is
// let go with the old one.

/** Hosts of one generation: two of them with orders of three take about 10 MB. */
const generationHostsMax = 32_768;

/** Cache host -> first agents of its order, of at most 65,536 hosts. */
export class RecentOrders {
  #young = new Map<string, readonly string[]>();
  #old = new Map<string, readonly string[]>();

  /** What was kept for the host, unless it has been let go. */
  get(host: string): readonly string[] | undefined {
    const young = this.#young.get(host);
    if (young !== undefined) return young;
    const old = this.#old.get(host);
    if (old !== undefined) this.set(host, old);
    return old;
  }

  /** Keeps an order in place of what was kept for the host. */
  set(host: string, order: readonly string[]): void {
    if (this.#young.size >= generationHostsMax && !this.#young.has(host)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(host, order);
  }
}
