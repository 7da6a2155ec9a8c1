// The lists that members owe this agent before it may take up hosts (PROTOCOL rules 2, 6 and 8):
// one of each member that is added, and one of each member that leaves. Of several members that
// leave at the same time each may give hosts to another, until it hears that that one leaves too.
// So each leaver owes a list that it began when it knew of all the others.

import type { AgentId } from '../protocol/messages.ts';

export class OwedLists {
  /** Members by name, each with the leavers that a list of it has still to take into account. */
  readonly #missing = new Map<AgentId, Set<AgentId>>();
  /** The leavers that whole lists of a leaver have taken into account. */
  readonly #accounted = new Map<AgentId, Set<AgentId>>();

  get isEmpty(): boolean {
    return this.#missing.size === 0;
  }

  get size(): number {
    return this.#missing.size;
  }

  clear(): void {
    this.#missing.clear();
    this.#accounted.clear();
  }

  /** The member was added. */
  expect(id: AgentId): void {
    if (!this.#missing.has(id)) this.#missing.set(id, new Set());
  }

  /** Those members leave, each of them from the point of view of all the others. */
  expectOfLeavers(leavers: readonly AgentId[]): void {
    for (const id of leavers) {
      const accounted = this.#accounted.get(id);
      const missing = leavers.filter((leaver) => !accounted?.has(leaver));
      if (missing.length === 0) continue;
      this.expect(id);
      for (const leaver of missing) this.#missing.get(id)?.add(leaver);
    }
  }

  /** A list of the member has come whole; `leavers` as in the message. */
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

  /** The member is gone. */
  forget(id: AgentId): void {
    this.#missing.delete(id);
    this.#accounted.delete(id);
  }
}
