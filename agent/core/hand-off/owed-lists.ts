// The lists that members owe this agent before it may hold hosts (PROTOCOL rules 2, 6 and 8). Each
// added member and each leaving member owes one. If several members leave at the same time, one may
// list hosts to another until it learns that this one leaves, too. So each leaver owes a list that
// it began after it knew of all other leavers.

import type { AgentId } from '../protocol/messages.ts';

export class OwedLists {
  /** The members that owe a list, each with the leavers that the list must take into account. */
  readonly #missing = new Map<AgentId, Set<AgentId>>();
  /** By leaver, the leavers that its complete lists took into account. */
  readonly #accounted = new Map<AgentId, Set<AgentId>>();

  get isEmpty(): boolean {
    return this.#missing.size === 0;
  }

  get size(): number {
    return this.#missing.size;
  }

  has(id: AgentId): boolean {
    return this.#missing.has(id);
  }

  /** The members that owe a list, each with the leavers that it must take into account. */
  all(): Iterable<readonly [AgentId, ReadonlySet<AgentId>]> {
    return this.#missing;
  }

  clear(): void {
    this.#missing.clear();
    this.#accounted.clear();
  }

  /** The member was added. */
  expect(id: AgentId): void {
    if (!this.#missing.has(id)) this.#missing.set(id, new Set());
  }

  /** All of these members are leaving. */
  expectOfLeavers(leavers: readonly AgentId[]): void {
    for (const id of leavers) {
      const accounted = this.#accounted.get(id);
      const missing = leavers.filter((leaver) => !accounted?.has(leaver));
      if (missing.length === 0) continue;
      this.expect(id);
      for (const leaver of missing) this.#missing.get(id)?.add(leaver);
    }
  }

  /** A list of the member is complete; `leavers` as in LIST. */
  received(id: AgentId, leavers: readonly AgentId[]): void {
    const accounted = this.#accounted.get(id) ?? new Set();
    if (leavers.length > 0) this.#accounted.set(id, accounted);
    const missing = this.#missing.get(id);
    for (const leaver of leavers) {
      accounted.add(leaver);
      missing?.delete(leaver);
    }
    if (missing?.size === 0) this.#missing.delete(id);
  }

  /** The member was removed. */
  forget(id: AgentId): void {
    this.#missing.delete(id);
    this.#accounted.delete(id);
  }
}
