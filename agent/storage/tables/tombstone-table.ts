// The agents that are known gone, in an agent's file: a row for each, replaced by later words. Read
// once at the start; every change is written in the turn that hears of it.

import type { TombstoneStore } from '../../core/protocol/core-store.ts';
import type { AgentId, Incarnation } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';

export class TombstoneTable implements TombstoneStore {
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection) {
    this.#s = statements(db);
  }

  all(): { id: AgentId; inc: Incarnation }[] {
    return this.#s.all.all();
  }

  save(id: AgentId, inc: Incarnation): void {
    this.#s.save.run(id, inc);
  }

  drop(id: AgentId): void {
    this.#s.drop.run(id);
  }
}

function statements(db: Connection) {
  return {
    all: db.prepare<[], { id: AgentId; inc: Incarnation }>('SELECT id, inc FROM gone_agents'),
    save: db.prepare<[AgentId, Incarnation]>(
      'INSERT OR REPLACE INTO gone_agents (id, inc) VALUES (?, ?)',
    ),
    drop: db.prepare<[AgentId]>('DELETE FROM gone_agents WHERE id = ?'),
  };
}
