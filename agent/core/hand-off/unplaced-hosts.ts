// Hosts with rows here whose owner is not in view. Only in a partial view: the agents near the host
// became members of this one when it owned the host, and it has parted from them before the owner got
// the rows. A look-up finds the owner, which gets a list when it is a member (docs/OVERLAY.md).

import type { Host } from '../protocol/messages.ts';

export class UnplacedHosts {
  /** Filled when a host is not given to a member, emptied by lists and YIELD_ACKs. Bound: the rows. */
  readonly #hosts = new Set<Host>();

  get isEmpty(): boolean {
    return this.#hosts.size === 0;
  }

  has(host: Host): boolean {
    return this.#hosts.has(host);
  }

  add(host: Host): void {
    this.#hosts.add(host);
  }

  delete(host: Host): void {
    this.#hosts.delete(host);
  }

  clear(): void {
    this.#hosts.clear();
  }

  /** Some of the hosts, each as often as the others. */
  next(count: number): Host[] {
    const some = [...this.#hosts.values().take(count)];
    for (const host of some) {
      this.#hosts.delete(host);
      this.#hosts.add(host);
    }
    return some;
  }
}
