// What is known to be gone: of each identifier the highest incarnation that was suspected, left or
// superseded, by own finding or hearsay (PROTOCOL rule 1). It only grows, and merging it is taking
// the maximum, so it may be told and heard in any order. The membership keeps it over rebirths of
// this agent, and a new process finds it in the store: what was gone once stays gone.

import type { AgentId, Incarnation } from './messages.ts';

/** Ids remembered; the configured ones and the joiners of a long life fit many times over. */
const GONE_MAX = 10_000;

export interface GoneStore {
  gone(): readonly { id: AgentId; inc: Incarnation }[];
  saveGone(id: AgentId, inc: Incarnation): void;
}

export class Gone {
  readonly #store: GoneStore;
  readonly #gone = new Map<AgentId, { inc: Incarnation; since: number }>();

  constructor(store: GoneStore) {
    this.#store = store;
  }

  /** What former lives knew, as if it had been learned now: for how long is not known. */
  recall(now: number): void {
    for (const { id, inc } of this.#store.gone()) this.#keep(id, inc, now);
  }

  /** The highest incarnation of the identifier known gone; 0 if none is. */
  highest(id: AgentId): Incarnation {
    return this.#gone.get(id)?.inc ?? 0;
  }

  has(id: AgentId, inc: Incarnation): boolean {
    return inc <= this.highest(id);
  }

  note(id: AgentId, inc: Incarnation, at: number): void {
    if (this.has(id, inc)) return;
    this.#keep(id, inc, at);
    this.#store.saveGone(id, inc);
  }

  #keep(id: AgentId, inc: Incarnation, at: number): void {
    this.#gone.delete(id);
    this.#gone.set(id, { inc, since: at });
    if (this.#gone.size <= GONE_MAX) return;
    const oldest = this.#gone.keys().next().value;
    if (oldest !== undefined) this.#gone.delete(oldest);
  }

  /** `since`: when this agent first knew it, on its monotonic clock. */
  *entries(): IterableIterator<{ id: AgentId; inc: Incarnation; since: number }> {
    for (const [id, { inc, since }] of this.#gone) yield { id, inc, since };
  }
}
