// What every commit leaves true and no check of SQLite looks at: a file with the log of another
// moment can be sound page by page and still be no state that ever was, and a bit that flips in the
// text of a URL leaves a sound file. The check goes through the tables in pieces, each in a read
// transaction of its own, because SQLite cannot reuse the write-ahead log while a reader stays in
// one. Used by examination.ts.

import type { Connection } from '../encoding/connection.ts';
import { hostNumberOf, hostOfId, placeCheck } from '../encoding/url-ids.ts';

/** Rows of one piece: some tenths of a second. */
const ROWS_PER_PIECE = 20_000;

/** As they may be in a damaged file. */
type UrlRow = [id: number, key: unknown, state: unknown, isRecorded: 0 | 1, number: unknown];

/**
 * Yields after each piece; at its end gives what is wrong, or null. What SQLite's own check compares
 * (indexes with their tables) must have been found sound before.
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

/** Looks at rows above a key. `last`: the key of the last row, null where there was none. */
type Part = (
  after: number,
  rows: number,
) => { readonly odd: string | null; readonly last: number | null };

/** Each URL is where its text belongs, with a number that was given, and has the record it needs. */
function urlsOf(db: Connection): Part {
  const isInPlace = placeCheck(db);
  // Of the table itself: what an index has of it, SQLite has compared.
  const rows = db
    .prepare<[number, number], UrlRow>(
      `SELECT id, key, state, state IN (1, 2) AND EXISTS
        (SELECT 1 FROM page_records p WHERE p.id = u.id), max(found, done)
       FROM urls u NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?`,
    )
    .raw();
  const given = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'n'").pluck();
  const isHost = db.prepare<[number], 1>('SELECT 1 FROM host_rows WHERE number = ?').pluck();
  const isDeleted = db.prepare<[number], 1>('SELECT 1 FROM deleted_hosts WHERE number = ?').pluck();
  return (after, limit) => {
    const highest = Number(given.get() ?? 0);
    let last: number | null = null;
    let host: number | null = null;
    let isGone = false;
    for (const [id, key, state, isRecorded, number] of rows.iterate(after, limit)) {
      last = id;
      if (hostNumberOf(id) !== host) {
        host = hostNumberOf(id);
        isGone = isDeleted.get(host) !== undefined;
        if (!isGone && isHost.get(host) === undefined) return odd(`URL ${id} and its host`);
      }
      // Of a deleted host some rows are gone already.
      if (isGone) continue;
      if (typeof key !== 'string' || !isInPlace(id, key)) return odd(`URL ${id} and its place`);
      if (typeof number !== 'number' || number > highest) {
        return odd(`URL ${id} and the numbers given`);
      }
      if (state !== 0 && state !== 3 && !isRecorded) return odd(`URL ${id} and its record`);
    }
    return { odd: null, last };
  };
}

/** Each record is that of a page. */
function recordsOf(db: Connection): Part {
  const piece = db.prepare<[number, number], { last: number | null; strays: number | null }>(
    `SELECT max(r.id) AS last, sum(NOT EXISTS
      (SELECT 1 FROM urls u NOT INDEXED WHERE u.id = r.id AND u.state IN (1, 2))) AS strays
     FROM (SELECT id FROM page_records NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?) r`,
  );
  return (after, limit) => {
    const { last, strays } = piece.get(after, limit)!;
    return strays ? odd('pages and their records') : { odd: null, last };
  };
}

/** Each host has as many queued URLs as it counts. */
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
      if (queued !== found) return odd(`the queue of host ${host} and its length`);
      last = host;
    }
    return { odd: null, last };
  };
}

function odd(what: string): { odd: string; last: null } {
  return { odd: what, last: null };
}
