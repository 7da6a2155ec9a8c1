// What becomes known of a URL after it was found: that it is a sitemap, or that it redirects to
// another form of its own identity. The copies of a queued URL are told by a new *again* event,
// because an event never changes under its number. Reached through
// `SqliteStore`; row-table.ts uses it for events of other agents, too.

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

  /** The URL was named as a sitemap. One that has ended is read as such in the next round. */
  declare(host: HostRow, id: number): void {
    if (this.#s.declare.get(id) === QUEUED) this.#tell(host, id);
  }

  /** A queued URL is requested in this form from now on, with no failed attempt yet. */
  moveTo(host: HostRow, id: number, fetchUrl: string | null, hops: number): void {
    if (this.#s.moveTo.run(fetchUrl, hops, id).changes > 0) this.#tell(host, id);
  }

  #tell(host: HostRow, id: number): void {
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
