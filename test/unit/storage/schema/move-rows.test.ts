// Tests the migration of a state file of schema 7 to the current tables: every view returns the
// same as before, and a start that fails on the way leaves the file unchanged.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { openState } from '../../../../agent/storage/file/database.ts';
import { MIGRATIONS } from '../../../../agent/storage/schema/migrations.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const mine = { crawl: 'c', agent: 'a' };
/** Pages of each host; they fill more than one batch, and no batch ends with a host. */
const PAGES = 700;
const VIEWS = ['pages', 'frontier', 'skipped', 'hosts', 'links', 'events'];

const URLS = `INSERT INTO urls (host, key, state, depth, found, done, attempts, not_before,
    fetch_url, referrer, reason, round, again)
  SELECT h.number, 'h/page-' || n.value, n.value % 4, n.value % 9, h.number * 10000 + n.value,
    iif(n.value % 4 > 0, h.number * 10000 + 5000 + n.value, 0), n.value % 3,
    iif(n.value % 40 = 0, 1700000000000.5, 0), iif(n.value % 7 = 0, 'http://x/' || n.value, NULL),
    CASE n.value % 5 WHEN 0 THEN NULL WHEN 1 THEN 'https://other.test/' WHEN 2 THEN 'h/gone'
      ELSE 'h/page-' || (n.value * 7 % ${PAGES}) END,
    iif(n.value % 4 = 3, 'robots', NULL), n.value % 2, n.value % 2
  FROM host_rows h, json_each(?) n`;

const record = (table: string, states: string) => `INSERT INTO ${table}
    (host, found, status, error, content_type, bytes, digest, fetched_at, duration_ms, redirect_to,
     warc_file, warc_offset, canonical, noindex, etag, payload, original_at, unchanged)
  SELECT host, found, iif(state = 2, NULL, 200), iif(state = 2, 'reset', NULL),
    iif(found % 3 = 0, NULL, 'text/x-' || found % 11), found % 77,
    iif(found % 2 = 0, 'sha256:' || lower(hex(randomblob(32))), 'md5:x'), 1700000000000 + found, 5,
    iif(found % 9 = 0, 'http://to.test/', NULL), 'a-' || found % 4 || '.warc.gz', found, 'h/page-1',
    iif(found % 5 = 0, 1, NULL), '"e"', 'sha1:P', 17, iif(found % 6 = 0, 1, NULL)
  FROM urls WHERE state IN (${states})`;

function stateOfSchema7(t: TestContext): { directory: string; file: string } {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-state-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'state.sqlite');
  const db = new Database(file);
  db.transaction(() => {
    for (const step of MIGRATIONS.slice(0, 7)) db.exec(step);
    db.pragma('user_version = 7');
    const meta = db.prepare('INSERT INTO meta VALUES (?, ?)');
    for (const [key, value] of Object.entries({ ...mine, delay_ms: 5, n: 99_999 })) {
      meta.run(key, value);
    }
    const host = db.prepare('INSERT INTO host_rows (host, owned) VALUES (?, ?)');
    for (const name of ['a.test', 'b.test', 'c.test']) host.run(name, Number(name !== 'c.test'));
    db.prepare(URLS).run(JSON.stringify([...Array(PAGES).keys()]));
    db.exec(record('page_records', '1, 2'));
    db.exec(record('former_pages', '0'));
    db.exec(`UPDATE host_rows SET last = 99999,
      queued = (SELECT count(*) FROM urls WHERE host = number AND state = 0),
      pages_done = (SELECT count(*) FROM urls WHERE host = number AND state IN (1, 2))`);
  })();
  db.close();
  return { directory, file };
}

/** The rows of the views that schema 7 also has. */
function told(db: Database.Database): Record<string, string[]> {
  const rows = (view: string) => {
    const all = db.prepare<[], Record<string, unknown>>(`SELECT * FROM ${view}`).all();
    const later = view === 'hosts' ? ['skipped'] : ['skipped', 'queued_again', 'network', 'state'];
    return all
      .filter((row) => !row.queued_again)
      .map((row) => Object.fromEntries(Object.entries(row).filter(([k]) => !later.includes(k))));
  };
  return Object.fromEntries(
    VIEWS.map((view) => [
      view,
      rows(view)
        .map((row) => JSON.stringify(row))
        .sort(),
    ]),
  );
}

function read<T>(file: string, act: (db: Database.Database) => T): T {
  const db = new Database(file, { readonly: true });
  try {
    return act(db);
  } finally {
    db.close();
  }
}

test('move rows: the views of a file of schema 7 are the same after the migration', (t) => {
  const { directory, file } = stateOfSchema7(t);
  const before = read(file, told);
  assert.ok(before.pages!.length > 600 && before.frontier!.length > 300, 'views with rows');
  const opened = openState({ directory, ...mine });
  assert.ok(opened.ok, 'message' in opened ? opened.message : '');
  const { db } = opened;
  // Fractions of a millisecond are read as before.
  assert.deepEqual(told(db), before);
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  const long = "SELECT count(*) FROM urls WHERE referrer LIKE 'h/page-%'";
  assert.equal(db.prepare(long).pluck().get(), 0, 'known referrers are stored as row ids');
  assert.equal(db.prepare('SELECT count(*) FROM former_pages').pluck().get(), (3 * PAGES) / 4);
  const former = 'SELECT DISTINCT round, attempts FROM pages WHERE queued_again';
  assert.deepEqual(db.prepare(former).all(), [{ round: null, attempts: null }]);
  assert.equal(
    db.prepare("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'").pluck().get(),
    0,
  );
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 5 });
  store.begin();
  const known = store.enqueue('b.test', { url: 'http://b.test/page-699', depth: 9 }, null);
  const found = store.enqueue('b.test', { url: 'http://b.test/page-700', depth: 9 }, null);
  assert.deepEqual([known, found], ['known', 'new']);
  store.close();
  opened.unlock();
  const again = openState({ directory, ...mine });
  assert.ok(again.ok && again.examined, 'the state is consistent');
  again.db.close();
  again.unlock();
});

test('move rows: a start that fails during the migration leaves the file of schema 7', (t) => {
  const { directory, file } = stateOfSchema7(t);
  const before = read(file, told);
  const db = new Database(file);
  db.exec("INSERT INTO meta VALUES ('slots', 1)");
  db.close();
  assert.equal(openState({ directory, ...mine }).ok, false);
  const version = read(file, (db) => db.pragma('user_version', { simple: true }));
  assert.equal(version, 7);
  assert.deepEqual(read(file, told), before);
});
