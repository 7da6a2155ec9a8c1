// Changes to a URL after it was found: it is declared a sitemap, or it redirects to another form of
// its own identity. The copies of a queued URL receive such a change as a new *again* event,
// because an event never changes under its number.

import type { Connection } from '../encoding/connection.ts';
import type { HostRow } from '../tables/host-table.ts';
import type { Note, Numbers } from '../tables/numbers.ts';

const QUEUED = 0;

export class Amendments {
  readonly #numbers: Numbers;
  readonly #note: Note;
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection, numbers: Numbers, note: Note) {
    this.#numbers = numbers;
    this.#note = note;
    this.#s = statements(db);
  }

  /** Declares the URL a sitemap. If it has ended, it is read as a sitemap in the next round. */
  declare(host: HostRow, id: number): void {
    if (this.#s.declare.get(id) === QUEUED) this.#requeue(host, id);
  }

  /** Changes the form in which a queued URL is requested, and clears its failed attempts. */
  moveTo(host: HostRow, id: number, fetchUrl: string | null, hops: number): void {
    if (this.#s.moveTo.run(fetchUrl, hops, id).changes > 0) this.#requeue(host, id);
  }

  #requeue(host: HostRow, id: number): void {
    const n = this.#numbers.next();
    this.#s.again.run(n, id);
    this.#note(host, id, n, 'again');
  }
}

function statements(db: Connection) {
  return {
    declare: db
      .prepare<[number], number>(
        'UPDATE urls SET sitemap = 1 WHERE id = ? AND sitemap = 0 RETURNING state',
      )
      .pluck(),
    moveTo: db.prepare<[string | null, number, number]>(
      `UPDATE urls SET fetch_url = ?, hops = ?, attempts = 0, failed_since = NULL, not_before = 0
       WHERE id = ? AND state = 0`,
    ),
    again: db.prepare<[number, number]>('UPDATE urls SET again = ? WHERE id = ?'),
  };
}
