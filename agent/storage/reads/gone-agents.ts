// The last that this agent has recorded about each agent that is no member now: whether it left. It
// is in the events, so it survives a restart. Each look goes on where the last one stopped, and reads
// only so many that the agent does not stop working for it.

import type { Connection } from '../encoding/connection.ts';
import { EVENTS_OF_MEMBERS } from './monitor-queries.ts';

/** Events of any kind: about 50 ms. */
const LOOK_MAX = 10_000;
/** So many agents are remembered: twice as many as a ring has. The one heard of first is dropped. */
const AGENTS_MAX = 2048;
/** So many are reported, so that the statuses of a thousand agents stay small. */
const REPORTED_MAX = 100;

export interface GoneAgent {
  readonly id: string;
  /** `suspect`: it was removed after a silence; `join`: only others know how it ended. */
  readonly kind: 'join' | 'suspect' | 'leave';
  /** Milliseconds since. */
  readonly ageMs: number;
}

export class GoneAgents {
  readonly #events;
  readonly #until;
  readonly #last = new Map<string, { readonly at: number; readonly kind: GoneAgent['kind'] }>();
  /** The number of the last event read. */
  #after = 0;

  constructor(db: Connection) {
    this.#events = db.prepare<[number, number], Row>(EVENTS_OF_MEMBERS);
    this.#until = db
      .prepare<[number], number | null>(
        `SELECT max(id) FROM
         (SELECT id FROM event_rows WHERE id > ? ORDER BY id LIMIT ${LOOK_MAX})`,
      )
      .pluck();
  }

  /**
   * Reads new events.
   *
   * @param present - this agent and its members
   * @param now - monotonic milliseconds
   * @returns those that have left before the others, and of each kind the newest first
   */
  look(present: readonly string[], now: number): GoneAgent[] {
    const until = this.#until.get(this.#after) ?? this.#after;
    for (const { at, kind, agent } of this.#events.iterate(this.#after + 1, until)) {
      if (agent === null) continue;
      this.#last.delete(agent);
      this.#last.set(agent, { at, kind });
      if (this.#last.size > AGENTS_MAX) this.#last.delete(this.#last.keys().next().value!);
    }
    this.#after = until;
    const here = new Set(present);
    const gone = [...this.#last].filter(([id]) => !here.has(id)).reverse();
    const isLeave = (one: (typeof gone)[number]) => one[1].kind === 'leave';
    const listed = [...gone.filter(isLeave), ...gone.filter((one) => !isLeave(one))];
    return listed.slice(0, REPORTED_MAX).map(([id, { at, kind }]) => {
      // A time in the future is of a clock that was wrong: the event is not the newest.
      return { id, kind, ageMs: Math.abs(Math.round(now - at)) };
    });
  }
}

interface Row {
  at: number;
  kind: GoneAgent['kind'];
  agent: string | null;
}
