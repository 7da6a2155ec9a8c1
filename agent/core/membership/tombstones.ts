// The highest removed incarnation of each identifier (PROTOCOL rules 1 and 3). Tombstones are
// merged by taking the maximum, so the sequence in which they arrive does not matter. They outlast
// rebirths and restarts of this agent.

import type { TombstoneStore } from '../protocol/core-store.ts';
import type { AgentId, Incarnation } from '../protocol/messages.ts';

/**
 * Maximum number of tombstones, here and on disk: heartbeats contain all of them. Identifiers that
 * have only been reported by others are dropped first, because anybody can invent them.
 */
export const GONE_MAX = 2000;

export class Tombstones {
  readonly #store: TombstoneStore;
  readonly #isKnown: (id: AgentId) => boolean;
  readonly #byAgent = new Map<AgentId, { inc: Incarnation; since: number }>();

  /** @param isKnown - whether the agent is in the config or has been in view */
  constructor(store: TombstoneStore, isKnown: (id: AgentId) => boolean) {
    this.#store = store;
    this.#isKnown = isKnown;
  }

  /** Loads the stored tombstones. Their age is not stored, so it begins now. */
  recall(now: number): void {
    for (const { id, inc } of this.#store.all()) this.#keep(id, inc, now);
  }

  /** The highest removed incarnation of the identifier, 0 if there is none. */
  highest(id: AgentId): Incarnation {
    return this.#byAgent.get(id)?.inc ?? 0;
  }

  has(id: AgentId, inc: Incarnation): boolean {
    return inc <= this.highest(id);
  }

  note(id: AgentId, inc: Incarnation, at: number): void {
    if (this.has(id, inc)) return;
    this.#store.save(id, inc);
    this.#keep(id, inc, at);
  }

  #keep(id: AgentId, inc: Incarnation, at: number): void {
    this.#byAgent.delete(id);
    this.#byAgent.set(id, { inc, since: at });
    if (this.#byAgent.size > GONE_MAX) this.#dropOne();
  }

  #dropOne(): void {
    const ids = [...this.#byAgent.keys()];
    const id = ids.find((one) => !this.#isKnown(one)) ?? ids[0]!;
    this.#byAgent.delete(id);
    this.#store.drop(id);
  }

  /** `since`: when this agent learned of it, on its monotonic clock. */
  *entries(): IterableIterator<{ id: AgentId; inc: Incarnation; since: number }> {
    for (const [id, { inc, since }] of this.#byAgent) yield { id, inc, since };
  }
}
