// What `status` reports from the rows of an agent's state, besides its counters. Each look reads
// little, since many ask for a status, once a second each.

import type { Connection } from '../encoding/connection.ts';
import { type GoneAgent, GoneAgents } from './gone-agents.ts';
import { type FoundTroubles, HostTroubles, type TrapScores } from './host-troubles.ts';

export class StoredStatus {
  readonly #troubles: HostTroubles;
  readonly #gone: GoneAgents;

  constructor(db: Connection, scores: TrapScores) {
    this.#troubles = new HostTroubles(db, scores);
    this.#gone = new GoneAgents(db);
  }

  /** @param now - monotonic milliseconds */
  look(
    { id, members }: { readonly id: string; readonly members: readonly { readonly id: string }[] },
    now: number,
  ): FoundTroubles & { readonly gone: readonly GoneAgent[] } {
    const present = [id, ...members.map((member) => member.id)];
    return { ...this.#troubles.look(), gone: this.#gone.look(present, now) };
  }
}
