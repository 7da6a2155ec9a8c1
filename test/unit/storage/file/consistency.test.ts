// Tests the consistency check of a state, which runs in parts: it finds violated invariants, and
// between two parts no reader prevents truncation of the write-ahead log.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { inconsistencies } from '../../../../agent/storage/file/consistency.ts';
import { openInMemory, openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const host = 'h.test';

function fill(store: SqliteStore, from: number, to: number): void {
  store.begin();
  for (let n = from; n < to; n++) {
    store.enqueue(host, { url: `http://${host}/${n}`, depth: 1 }, null);
    if (n % 3 > 0) continue;
    store.recordPage(store.host(host).number, {
      ...{ url: `http://${host}/${n}`, status: 200, error: null, contentType: null, bytes: 1 },
      ...{ digest: null, fetchedAt: n, durationMs: 1, redirectTo: null, attempts: 1 },
    });
  }
  store.commit(false);
}

/** Checks in parts of ten rows; `between` runs after each. */
function verdict(db: Database.Database, between = () => {}): string | null {
  const pieces = inconsistencies(db, 10);
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
    between();
  }
}

function crawlOnDisk(t: TestContext): { path: string; store: SqliteStore } {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-consistency-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const opened = openState({ directory, crawl: 'c', agent: 'a' });
  assert.ok(opened.ok);
  t.after(() => opened.unlock());
  const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 1 });
  t.after(() => store.close());
  fill(store, 0, 200);
  return { path: join(directory, 'state.sqlite'), store };
}

test('consistency: between two parts the log can be truncated, and new rows are not reported as damage', (t) => {
  const { path, store } = crawlOnDisk(t);
  const [reader, writer] = [new Database(path, { readonly: true }), new Database(path)];
  t.after(() => reader.close());
  t.after(() => writer.close());
  let pieces = 0;
  const write = () => {
    fill(store, 1000 + 5 * pieces, 1005 + 5 * pieces);
    pieces++;
    const [{ busy } = { busy: 1 }] = writer.pragma('wal_checkpoint(TRUNCATE)') as {
      busy: number;
    }[];
    assert.equal(busy, 0, `after piece ${pieces}`);
    assert.equal(fs.statSync(`${path}-wal`).size, 0);
  };
  assert.equal(verdict(reader, write), null);
  assert.ok(pieces > 20, `only ${pieces} pieces`);
});

const oddities: readonly [sql: string, says: RegExp][] = [
  [
    "UPDATE urls SET key = 'h/x' WHERE id = (SELECT max(id) FROM urls)",
    /^URL \d+ has the wrong row id$/,
  ],
  [
    "UPDATE urls SET found = found + 1000000 WHERE key = 'h/7'",
    /^URL \d+ has a number never assigned$/,
  ],
  ["UPDATE urls SET state = 1 WHERE key = 'h/7'", /^URL \d+ has no page record$/],
  ["UPDATE urls SET state = 0 WHERE key = 'h/6'", /^page records without finished URLs$/],
  ["UPDATE urls SET state = 3 WHERE key = 'h/6'", /^page records without finished URLs$/],
  ["UPDATE urls SET state = 3 WHERE key = 'h/7'", /^host \d+ counts \d+ queued URLs, has \d+$/],
  ['UPDATE host_rows SET queued = queued + 1', /^host \d+ counts \d+ queued URLs, has \d+$/],
  ['DELETE FROM host_rows', /^URL \d+ has no host$/],
];

for (const [sql, says] of oddities) {
  test(`consistency: reports the violation after ${sql}`, () => {
    const db = openInMemory();
    const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 1 });
    fill(store, 0, 50);
    assert.equal(verdict(db), null);
    db.exec(sql);
    assert.match(verdict(db) ?? '', says);
    store.close();
  });
}
