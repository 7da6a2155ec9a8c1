// The operator's directives in an agent's file: one row for each kind and host, replaced by a later
// directive. The agent reads them once at the start and writes each change in the turn that
// receives it.

import type { DirectiveStore } from '../../core/protocol/directives.ts';
import type { Directive } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';

export class DirectiveTable implements DirectiveStore {
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection) {
    this.#s = statements(db);
  }

  directives(): Directive[] {
    return this.#s.all.all();
  }

  saveDirective(directive: Directive, at: number): void {
    this.#s.save.run({ ...directive, at: Math.round(at) });
  }

  /** The event that a running agent records when it applies the directive. */
  recordEvent({ kind, host, value, by }: Directive, at: number): void {
    this.#s.event.run(at, JSON.stringify({ order: kind, ...(host !== '' && { host }), value, by }));
  }

  dropDirective({ kind, host }: Pick<Directive, 'kind' | 'host'>): void {
    this.#s.drop.run(kind, host);
  }
}

function statements(db: Connection) {
  return {
    all: db.prepare<[], Directive>(
      'SELECT kind, host, value, number AS n, agent AS "by" FROM order_rows',
    ),
    save: db.prepare<[Directive & { readonly at: number }]>(
      `INSERT OR REPLACE INTO order_rows (kind, host, value, number, agent, applied_at)
       VALUES ($kind, $host, $value, $n, $by, $at)`,
    ),
    event: db.prepare<[number, string]>(
      "INSERT INTO event_rows (at, kind, detail) VALUES (?, 'order', ?)",
    ),
    drop: db.prepare<[string, string]>('DELETE FROM order_rows WHERE kind = ? AND host = ?'),
  };
}
