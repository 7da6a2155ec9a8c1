// Checks what every commit guarantees and no check of SQLite covers. A file with the log of another
// moment can be sound page by page and still hold a state that never existed, and a flipped bit in
// the text of a URL leaves a sound file. The check reads the tables in pieces, each in its own read
// transaction, because SQLite cannot reuse the write-ahead log during a read transaction.

import type { Connection } from '../encoding/connection.ts';
import { hostNumberOf, hostOfId, placeCheck } from '../encoding/url-ids.ts';

/** Rows of one piece; reading them takes some tenths of a second. */
const ROWS_PER_PIECE = 20_000;

/** Values of unknown types, as a damaged file may hold. */
type UrlRow = [id: number, key: unknown, state: unknown, isRecorded: 0 | 1, number: unknown];

/**
 * Yields after each piece and returns the first inconsistency, or null. SQLite's own check, which
 * compares indexes with their tables, must have passed before.
 */
export function* inconsistencies(
  db: Connection,
  rowsPerPiece = ROWS_PER_PIECE,
): Generator<void, string | null> {
  for (const part of [urlsOf(db), recordsOf(db), queuesOf(db)]) {
    for (let after = -Infinity; ; ) {
      const piece = db.transaction(part)(after, rowsPerPiece);
      if (piece.odd !== null) return piece.odd;
      if (piece.last === null) break;
      after = piece.last;
      yield;
    }
  }
  return null;
}

/** Checks rows above a key. `last` is the key of the last row; null: there was none. */
type Part = (
  after: number,
  rows: number,
) => { readonly odd: string | null; readonly last: number | null };

/** Each URL has the row id that its key requires, an assigned event number, and its page record. */
function urlsOf(db: Connection): Part {
  const isInPlace = placeCheck(db);
  // Reads the table itself; SQLite's check has compared the indexes.
  const rows = db
    .prepare<[number, number], UrlRow>(
      `SELECT id, key, state, state IN (1, 2) AND EXISTS
        (SELECT 1 FROM page_records p WHERE p.id = u.id), max(found, done)
       FROM urls u NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?`,
    )
    .raw();
  const counter = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'n'").pluck();
  const isHost = db.prepare<[number], 1>('SELECT 1 FROM host_rows WHERE number = ?').pluck();
  const isDeleted = db.prepare<[number], 1>('SELECT 1 FROM deleted_hosts WHERE number = ?').pluck();
  return (after, limit) => {
    const highest = Number(counter.get() ?? 0);
    let last: number | null = null;
    let host: number | null = null;
    let isDeletedHost = false;
    for (const [id, key, state, isRecorded, number] of rows.iterate(after, limit)) {
      last = id;
      if (hostNumberOf(id) !== host) {
        host = hostNumberOf(id);
        isDeletedHost = isDeleted.get(host) !== undefined;
        if (!isDeletedHost && isHost.get(host) === undefined) return odd(`URL ${id} has no host`);
      }
      // Some rows of a deleted host are already deleted.
      if (isDeletedHost) continue;
      if (typeof key !== 'string' || !isInPlace(id, key))
        return odd(`URL ${id} has the wrong row id`);
      if (typeof number !== 'number' || number > highest) {
        return odd(`URL ${id} has a number never assigned`);
      }
      if (state !== 0 && state !== 3 && !isRecorded) return odd(`URL ${id} has no page record`);
    }
    return { odd: null, last };
  };
}

/** Each page record belongs to a finished URL. */
function recordsOf(db: Connection): Part {
  const piece = db.prepare<[number, number], { last: number | null; strays: number | null }>(
    `SELECT max(r.id) AS last, sum(NOT EXISTS
      (SELECT 1 FROM urls u NOT INDEXED WHERE u.id = r.id AND u.state IN (1, 2))) AS strays
     FROM (SELECT id FROM page_records NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?) r`,
  );
  return (after, limit) => {
    const { last, strays } = piece.get(after, limit)!;
    return strays ? odd('page records without finished URLs') : { odd: null, last };
  };
}

/** The counter of queued URLs of each host is right. */
function queuesOf(db: Connection): Part {
  const hosts = db
    .prepare<[number, number], [number, number, number]>(
      `SELECT number, queued, (SELECT count(*) FROM urls u INDEXED BY queue
        WHERE u.state = 0 AND ${hostOfId('u.id')} = h.number + 0)
       FROM host_rows h WHERE number > ? ORDER BY number LIMIT ?`,
    )
    .raw();
  return (after, limit) => {
    let last: number | null = null;
    for (const [host, queued, found] of hosts.iterate(after, limit)) {
      if (queued !== found) return odd(`host ${host} counts ${queued} queued URLs, has ${found}`);
      last = host;
    }
    return { odd: null, last };
  };
}

function odd(what: string): { odd: string; last: null } {
  return { odd: what, last: null };
}
