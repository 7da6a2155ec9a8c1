// Hosts that were deleted and whose rows are not all gone yet. A host may have millions of rows, and
// to delete them in one statement would hold up the loop for minutes. So its own row goes at once,
// and with it the host from every view and look-up; its number is noted in `deleted_hosts`, and the
// rest is deleted in pieces, also after a restart. No new host gets a number that is noted there.

import type { Connection } from '../encoding/connection.ts';
import { idsOfHost } from '../encoding/url-ids.ts';

/** As a `robots.txt` of half a megabyte weighs. */
const ROBOTS_PER_PIECE = 4;

export class DeletedHosts {
  readonly #s: ReturnType<typeof statements>;
  /** Whether some are noted, as far as is known here. */
  #some: boolean;

  constructor(db: Connection) {
    this.#s = statements(db);
    this.#some = this.#s.first.get() !== undefined;
  }

  /** Rows are left to be deleted. */
  get areLeft(): boolean {
    return this.#some;
  }

  /** The host has no row of its own any more. */
  add(hostNumber: number): void {
    this.#s.add.run(hostNumber);
    this.#some = true;
  }

  /** Deletes the rows of up to `max` URLs, or what else there is of one host. */
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
