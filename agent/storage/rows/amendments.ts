// Changes to a queued URL after it was found: it is declared a sitemap, it redirects to another form of
// its own identity, or its request failed. The copies receive such a change as a new *again* event,
// because an event never changes under its number.

import type { Retry } from '../../frontier/frontier-store.ts';
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
    if (this.#s.declare.get(id) === QUEUED) this.#again(host, id);
  }

  /** Changes the form in which a queued URL is requested, and clears its failed attempts. */
  moveTo(host: HostRow, id: number, fetchUrl: string | null, hops: number): void {
    if (this.#s.moveTo.run(fetchUrl, hops, id).changes > 0) this.#again(host, id);
  }

  /**
   * The queued URL waits for its next request. The next owner of its host continues to count the
   * attempts; it does not know the wait, as its clock may differ.
   */
  requeue(host: HostRow, id: number, retry: Retry): void {
    const before = this.#s.attempts.get(id) ?? retry.attempts;
    this.#s.requeue.run({ ...retry, id });
    if (retry.attempts > before) this.#again(host, id);
  }

  #again(host: HostRow, id: number): void {
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
    attempts: db
      .prepare<[number], number>('SELECT attempts FROM urls WHERE id = ? AND state = 0')
      .pluck(),
    requeue: db.prepare<[Retry & { readonly id: number }]>(
      `UPDATE urls SET attempts = $attempts, failed_since = $failedSince, not_before = $notBefore
       WHERE id = $id AND state = 0`,
    ),
    again: db.prepare<[number, number]>('UPDATE urls SET again = ? WHERE id = ?'),
  };
}
