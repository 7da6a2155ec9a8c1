// Tests reading state files that cannot be opened in place: copies without -wal and -shm in a
// read-only directory, and files of older schemas. None of them is changed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { openState } from '../../../../agent/storage/file/database.ts';
import { openForReading, whyNotReadable } from '../../../../agent/storage/file/reading.ts';
import { MIGRATIONS } from '../../../../agent/storage/schema/migrations.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const NOBODY = 65_534;

function scratch(t: TestContext): string {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-reading-'));
  t.after(() => {
    fs.chmodSync(directory, 0o755);
    fs.rmSync(directory, { recursive: true });
  });
  return directory;
}

/**
 * Writes two queued URLs, the second only into the write-ahead log; copies both files to `copy`.
 */
function writeState(directory: string, copy: string): void {
  const state = openState({ directory, crawl: 'c', agent: 'a' });
  assert.ok(state.ok);
  const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
  for (const [n, url] of ['http://h.test/1', 'http://h.test/2'].entries()) {
    store.begin();
    store.enqueue('h.test', { url, depth: 0 }, null);
    store.commit(false);
    if (n === 0) state.db.pragma('wal_checkpoint(TRUNCATE)');
  }
  for (const suffix of ['', '-wal']) {
    fs.copyFileSync(join(directory, `state.sqlite${suffix}`), copy + suffix);
  }
  store.close();
  state.unlock();
}

/** Runs `act` as a user without write permission; root could write everywhere. */
function readOnly<T>(directory: string, act: () => T): T {
  for (const name of fs.readdirSync(directory)) fs.chmodSync(join(directory, name), 0o444);
  fs.chmodSync(directory, 0o555);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid!(NOBODY);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid!(0);
  }
}

function rowsOf(path: string, sql: string): unknown[] {
  const read = openForReading(path);
  assert.ok(read.ok, 'why' in read ? read.why : '');
  try {
    return read.db.prepare(sql).raw().all();
  } finally {
    read.db.close();
  }
}

/** Creates a world-writable directory for the temporary files of this test only. */
function ownTemporary(t: TestContext): string {
  const directory = scratch(t);
  fs.chmodSync(directory, 0o777);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = directory;
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  return directory;
}

for (const isLogged of [true, false]) {
  const what = isLogged ? 'with a log and no -shm' : 'without -wal and -shm';
  test(`reading: reads a copy ${what} in a read-only directory`, (t) => {
    const [from, directory] = [scratch(t), scratch(t)];
    const copy = join(directory, 'state.sqlite');
    writeState(from, copy);
    if (!isLogged) fs.rmSync(`${copy}-wal`);
    const before = fs.readdirSync(directory);
    const temporary = ownTemporary(t);
    const rows = readOnly(directory, () => rowsOf(copy, 'SELECT url FROM frontier ORDER BY url'));
    assert.deepEqual(
      rows,
      isLogged ? [['http://h.test/1'], ['http://h.test/2']] : [['http://h.test/1']],
    );
    assert.deepEqual(fs.readdirSync(directory), before);
    assert.deepEqual(fs.readdirSync(temporary), []);
  });
}

test('reading: reads a file of an older schema, and leaves it unchanged', (t) => {
  const path = join(scratch(t), 'state.sqlite');
  const old = new Database(path);
  for (const step of MIGRATIONS.slice(0, 12)) old.exec(step);
  old.pragma('user_version = 12');
  old.exec("INSERT INTO host_rows (number, host, owned, queued) VALUES (1, 'h.test', 1, 1)");
  old.exec(
    `INSERT INTO urls (id, key, state, depth, found) VALUES ((1 << 28) + 5, 'h/1', 0, 0, 1)`,
  );
  old.close();
  const before = fs.readFileSync(path);
  assert.deepEqual(rowsOf(path, 'SELECT url, round FROM frontier'), [['http://h.test/1', 0]]);
  assert.deepEqual(rowsOf(path, 'SELECT queued_again FROM pages'), []);
  assert.deepEqual(rowsOf(path, 'SELECT * FROM deleted_hosts'), []);
  assert.deepEqual(fs.readFileSync(path), before);
  const temporary = ownTemporary(t);
  fs.chmodSync(temporary, 0);
  assert.equal(whyNotReadable(path), null, 'without a copy');
  fs.rmdirSync(temporary);
  const read = openForReading(path);
  fs.mkdirSync(temporary);
  assert.ok(!read.ok && read.scratch);
  assert.match(read.why, /^cannot be copied: cannot write in .*; name a .* with room in TMPDIR$/);
});

test('reading: reports a damaged file, and one of a newer schema or of another program', (t) => {
  const path = join(scratch(t), 'state.sqlite');
  fs.writeFileSync(path, '');
  assert.match(whyOf(path), /is damaged \(it is empty\)/);
  fs.writeFileSync(path, 'x'.repeat(9000));
  assert.match(whyOf(path), /is damaged \(file is not a database\)/);
  fs.rmSync(path);
  const db = new Database(path);
  db.exec('CREATE TABLE other (x)');
  assert.match(whyOf(path), /is another program's database/);
  db.exec('CREATE TABLE meta (x)');
  db.pragma('user_version = 999');
  assert.match(whyOf(path), /has schema 999, this ubiring knows \d+: .* newer version; upgrade/);
  db.close();
});

function whyOf(path: string): string {
  const read = openForReading(path);
  assert.ok(!read.ok);
  assert.equal(whyNotReadable(path), read.why);
  return read.why;
}
