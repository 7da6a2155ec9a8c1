// The marks of the copies here: for each host and sender, the highest event number of the sender
// that has been applied, and the highest version of its reports of the host (PROTOCOL rule 11).

import type { AgentId, Host } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';

export interface Mark {
  readonly mark: number;
  readonly version: number;
}

/** Marks in memory; above this number all are dropped, and read again when they are needed. */
const CACHED_MAX = 20_000;
const NONE: Mark = { mark: 0, version: 0 };

export class MarkTable {
  readonly #s: ReturnType<typeof statements>;
  /** By host number and sender, because each message asks for the mark of each of its hosts. */
  readonly #cached = new Map<string, Mark>();

  constructor(db: Connection) {
    this.#s = statements(db);
  }

  of(host: number, sender: AgentId): Mark {
    const key = keyOf(host, sender);
    const cached = this.#cached.get(key);
    if (cached) return cached;
    const mark = this.#s.mark.get(host, sender) ?? NONE;
    this.#cache(key, mark);
    return mark;
  }

  save(host: number, sender: AgentId, { mark, version }: Mark): void {
    this.#s.save.run(host, sender, mark, version);
    this.#cache(keyOf(host, sender), { mark, version });
  }

  #cache(key: string, mark: Mark): void {
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear();
    this.#cached.set(key, mark);
  }

  /** Returns the hosts of the marks. */
  forgetAbove(sender: AgentId, n: number): Host[] {
    this.#cached.clear();
    return this.#s.forgetAbove.all(sender, n);
  }

  deleteHost(host: number): void {
    this.#cached.clear();
    this.#s.delete.run(host);
  }
}

function keyOf(host: number, sender: AgentId): string {
  return `${host} ${sender}`;
}

function statements(db: Connection) {
  return {
    mark: db.prepare<[number, string], Mark>(
      'SELECT mark, version FROM marks WHERE host = ? AND sender = ?',
    ),
    save: db.prepare<[number, string, number, number]>(
      'INSERT OR REPLACE INTO marks (host, sender, mark, version) VALUES (?, ?, ?, ?)',
    ),
    forgetAbove: db
      .prepare<[string, number], Host>(
        `DELETE FROM marks WHERE sender = ? AND mark > ?
         RETURNING (SELECT host FROM host_rows WHERE number = marks.host)`,
      )
      .pluck(),
    delete: db.prepare<[number]>('DELETE FROM marks WHERE host = ?'),
  };
}
