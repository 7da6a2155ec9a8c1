// What is known to be gone: of each identifier the highest incarnation that was suspected, left or
// superseded, by own finding or hearsay (PROTOCOL rule 1). An incarnation only rises: merging is taking
// the maximum, so it may be told and heard in any order. The membership keeps it over rebirths of
// this agent, and a new process finds it in the store: what was gone once stays gone.

import type { TombstoneStore } from '../protocol/core-store.ts';
import type { AgentId, Incarnation } from '../protocol/messages.ts';

/**
 * Ids remembered, here and on disk: heartbeats name all of them. Beyond this number, ids that this
 * agent knows from others alone are dropped first, since anybody can invent such ids.
 */
export const GONE_MAX = 2000;

export class Tombstones {
  readonly #store: TombstoneStore;
  readonly #isKnown: (id: AgentId) => boolean;
  readonly #byAgent = new Map<AgentId, { inc: Incarnation; since: number }>();

  /** @param isKnown - whether the config has the agent, or it has been in view */
  constructor(store: TombstoneStore, isKnown: (id: AgentId) => boolean) {
    this.#store = store;
    this.#isKnown = isKnown;
  }

  /** What former lives knew, as if it had been learned now: for how long is not known. */
  recall(now: number): void {
    for (const { id, inc } of this.#store.all()) this.#keep(id, inc, now);
  }

  /** The highest incarnation of the identifier known gone; 0 if none is. */
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

  /** `since`: when this agent first knew it, on its monotonic clock. */
  *entries(): IterableIterator<{ id: AgentId; inc: Incarnation; since: number }> {
    for (const [id, { inc, since }] of this.#byAgent) yield { id, inc, since };
  }
}
