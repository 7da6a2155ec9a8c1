// Deleted hosts that still have rows. A host may have millions of rows, and deleting them in one
// statement would block the loop for minutes. So the row of the host is deleted at once, and the
// host disappears from all views and look-ups. Its number is recorded in `deleted_hosts`, and its
// other rows are deleted in pieces, also after a restart. No new host gets a recorded number.

import type { Connection } from '../encoding/connection.ts';
import { idsOfHost } from '../encoding/url-ids.ts';

/** robots.txt records deleted in one piece; one may be half a megabyte. */
const ROBOTS_PER_PIECE = 4;

export class DeletedHosts {
  readonly #s: ReturnType<typeof statements>;
  /** Whether hosts may be recorded; `deleteSome` clears it when there are none. */
  #some: boolean;

  constructor(db: Connection) {
    this.#s = statements(db);
    this.#some = this.#s.first.get() !== undefined;
  }

  /** Whether there may be rows to delete. */
  get areLeft(): boolean {
    return this.#some;
  }

  /** Records a host whose own row is deleted. */
  add(hostNumber: number): void {
    this.#s.add.run(hostNumber);
    this.#some = true;
  }

  /** Deletes the rows of up to `max` URLs of one host, or some of its other rows. */
  deleteSome(max: number): void {
    const host = this.#s.first.get();
    if (host === undefined) {
      this.#some = false;
      return;
    }
    const ids = this.#s.ids.get({ host, max })!;
    if (ids.last !== null) {
      this.#s.pages.run(ids);
      this.#s.formers.run(ids);
      this.#s.urls.run(ids);
    } else if (this.#s.robots.run(host, host, ROBOTS_PER_PIECE).changes === 0) {
      this.#s.remove.run(host);
    }
  }
}

interface Ids {
  readonly first: number | null;
  readonly last: number | null;
}

function statements(db: Connection) {
  return {
    add: db.prepare<[number]>('INSERT INTO deleted_hosts (number) VALUES (?)'),
    first: db.prepare<[], number>('SELECT number FROM deleted_hosts LIMIT 1').pluck(),
    remove: db.prepare<[number]>('DELETE FROM deleted_hosts WHERE number = ?'),
    ids: db.prepare<[{ host: number; max: number }], Ids>(
      `SELECT min(id) AS first, max(id) AS last FROM
        (SELECT id FROM urls WHERE ${idsOfHost('id', '$host')} ORDER BY id LIMIT $max)`,
    ),
    pages: db.prepare<[Ids]>('DELETE FROM page_records WHERE id BETWEEN $first AND $last'),
    formers: db.prepare<[Ids]>('DELETE FROM former_pages WHERE id BETWEEN $first AND $last'),
    urls: db.prepare<[Ids]>('DELETE FROM urls WHERE id BETWEEN $first AND $last'),
    robots: db.prepare<[number, number, number]>(
      `DELETE FROM robots WHERE host = ?
       AND origin IN (SELECT origin FROM robots WHERE host = ? LIMIT ?)`,
    ),
  };
}
