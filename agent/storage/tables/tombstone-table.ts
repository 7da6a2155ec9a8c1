// Tombstones of removed agents in an agent's file, one row for each, replaced by a later tombstone.
// The agent reads them once at the start and writes each change in the turn that receives it.

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
