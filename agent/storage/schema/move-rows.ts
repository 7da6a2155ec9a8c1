// Moves the rows of a file of schema 7 into the tables of schema 8 (schema-slots.ts). It runs in
// the transaction of that step, so a kill leaves the old file. Memory is bounded by one batch of
// rows. The file grows by the size of the new tables; SQLite later reuses the space of the old
// ones.

import type { Connection } from '../encoding/connection.ts';
import { OLD_PAGE_SELECT, type PlainPage, pageOf } from '../encoding/page-columns.ts';
import { idsOfHost, UrlIds } from '../encoding/url-ids.ts';
import { Words } from '../encoding/words.ts';
import { PageTable } from '../tables/page-table.ts';

/** Rows in memory at a time. */
const BATCH_ROWS = 1000;

interface OldRow {
  readonly host: number;
  readonly key: string;
  readonly found: number;
}

/** @param slotsKey - the key of the hash that places URLs, stored in the file; below 2^53 */
export function moveRows(db: Connection, slotsKey: number): void {
  db.prepare("INSERT INTO meta (key, value) VALUES ('slots', ?)").run(slotsKey);
  const ids = new UrlIds(db);
  const words = new Words(db);
  const movePage = pageMover(db, 'page_records', words);
  const moveFormer = pageMover(db, 'former_pages', words);
  const batch = db.prepare<[number, string, number], OldRow>(
    `SELECT host, key, found FROM old_urls WHERE (host, key) > (?, ?) ORDER BY host, key LIMIT ?`,
  );
  const rest = `key, state, depth, found, done, attempts, not_before, fetch_url, referrer, reason,
    round, again`;
  const insert = db.prepare<[number, number, string]>(
    `INSERT INTO urls (id, ${rest}) SELECT ?, ${rest} FROM old_urls WHERE host = ? AND key = ?`,
  );
  const shortenReferrers = referrerShortener(db, ids);
  let current: number | undefined;
  let rows = batch.all(-1, '', BATCH_ROWS);
  while (rows.length > 0) {
    for (const { host, key, found } of rows) {
      if (current !== undefined && host !== current) shortenReferrers(current);
      current = host;
      const id = -1 - ids.find(host, key);
      insert.run(id, host, key);
      movePage(host, found, id);
      moveFormer(host, found, id);
    }
    const { host, key } = rows.at(-1)!;
    rows = batch.all(host, key, BATCH_ROWS);
  }
  if (current !== undefined) shortenReferrers(current);
}

function pageMover(db: Connection, table: 'page_records' | 'former_pages', words: Words) {
  const pages = new PageTable(db, table, words);
  const old = db.prepare<[number, number], PlainPage>(
    `SELECT ${OLD_PAGE_SELECT} FROM old_${table} WHERE host = ? AND found = ?`,
  );
  return (host: number, found: number, id: number) => {
    const plain = old.get(host, found);
    if (plain) pages.save(id, pageOf(plain));
  };
}

/**
 * To be called for each host once all its URLs have a row id and are still in the page cache.
 * Otherwise every page of the file would be written twice.
 */
function referrerShortener(db: Connection, ids: UrlIds): (host: number) => void {
  const batch = db.prepare<
    [{ host: number; after: number; max: number }],
    { id: number; referrer: string }
  >(
    `SELECT id, referrer FROM urls
     WHERE ${idsOfHost('id', '$host')} AND id > $after
       AND typeof(referrer) = 'text' AND substr(referrer, 2, 1) <> 't'
     ORDER BY id LIMIT $max`,
  );
  const save = db.prepare<[number | string | null, number]>(
    'UPDATE urls SET referrer = ? WHERE id = ?',
  );
  return (host) => {
    let after = -1;
    for (;;) {
      const rows = batch.all({ host, after, max: BATCH_ROWS });
      if (rows.length === 0) return;
      for (const { id, referrer } of rows) save.run(ids.referrer(host, referrer), id);
      after = rows.at(-1)!.id;
    }
  };
}
