// What `status` reports from the rows of an agent's state, besides its counters. Each look reads
// little, since many ask for a status, once a second each.

import type { Connection } from '../encoding/connection.ts';
import { type GoneAgent, GoneAgents } from './gone-agents.ts';
import { type FoundTroubles, HostTroubles, type TrapScores } from './host-troubles.ts';
import { LAST_EVENT } from './monitor-queries.ts';

export class StoredStatus {
  readonly #troubles: HostTroubles;
  readonly #gone: GoneAgents;
  readonly #lastEvent;

  constructor(db: Connection, scores: TrapScores) {
    this.#troubles = new HostTroubles(db, scores);
    this.#gone = new GoneAgents(db);
    this.#lastEvent = db.prepare<[], number | null>(LAST_EVENT).pluck();
  }

  /** @param now - monotonic milliseconds */
  look(
    { id, members }: { readonly id: string; readonly members: readonly { readonly id: string }[] },
    now: number,
  ): FoundTroubles & { readonly gone: readonly GoneAgent[]; readonly lastEvent: number } {
    const present = [id, ...members.map((member) => member.id)];
    const gone = this.#gone.look(present, now);
    return { ...this.#troubles.look(), gone, lastEvent: this.#lastEvent.get() ?? 0 };
  }
}
