// Tests the meaning of disk errors, and that a failed turn leaves nothing behind, neither at once
// nor when sums are read afterwards.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { openState } from '../../../../agent/storage/file/database.ts';
import { storageFailureOf } from '../../../../agent/storage/file/storage-failure.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const kinds: [string, string | undefined][] = [
  ['SQLITE_FULL', 'full'],
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
  ['SQLITE_CORRUPT_INDEX', 'damaged'],
  ['SQLITE_NOTADB', 'damaged'],
  ['SQLITE_IOERR_WRITE', 'unwritable'],
  ['SQLITE_READONLY_DBMOVED', 'unwritable'],
  ['EROFS', 'unwritable'],
  ['SQLITE_BUSY_SNAPSHOT', 'busy'],
  ['SQLITE_CONSTRAINT', undefined],
  ['ERR_ASSERTION', undefined],
];

for (const [code, kind] of kinds) {
  test(`failure: ${code} is ${kind ?? 'no failure of the disk'}, wrapped or not`, () => {
    const error = Object.assign(new Error('it says why'), { code });
    const wrapped = new Error('outer', { cause: new Error('inner', { cause: error }) });
    for (const each of [error, wrapped]) {
      const failure = storageFailureOf(each, tmpdir());
      assert.equal(failure?.code, kind);
      if (failure) assert.ok(failure.message.includes(tmpdir()), failure.message);
    }
  });
}

test('failure: a full disk names the size of the state with its log', (t) => {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-failure-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  fs.writeFileSync(join(directory, 'state.sqlite'), Buffer.alloc(2048));
  fs.writeFileSync(join(directory, 'state.sqlite-wal'), Buffer.alloc(5120));
  const error = Object.assign(new Error('full'), { code: 'SQLITE_FULL' });
  assert.match(storageFailureOf(error, directory)!.message, /for its state \(7 KiB\) to grow/);
});

test('failure: a circular chain of causes ends', () => {
  const error = new Error('round');
  error.cause = error;
  assert.equal(storageFailureOf(error, tmpdir()), null);
});

test('failure: nothing of a failed turn is kept, even if sums are read afterwards', (t) => {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-failure-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const opened = openState({ directory, crawl: 'c', agent: 'a' });
  assert.ok(opened.ok);
  const store = new SqliteStore(opened.db, { durability: 'power', hostDelayMs: 1 });
  const insert = (n: number) =>
    store.enqueue('h.test', { url: `http://h.test/${n}`, depth: 0 }, null);
  store.begin();
  insert(1);
  store.commit(true);
  const before = rowsOf(opened.db);
  store.begin();
  insert(2);
  store.abandon();
  assert.equal(store.owned().queued, 1);
  store.close();
  opened.unlock();
  const db = new Database(join(directory, 'state.sqlite'), { readonly: true });
  assert.deepEqual(rowsOf(db), before);
  db.close();
});

function rowsOf(db: Database.Database): unknown[] {
  return ['urls', 'host_rows', 'meta'].map((table) => db.prepare(`SELECT * FROM ${table}`).all());
}

test('failure: a turn does not begin while another program writes, and loses nothing', (t) => {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-failure-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const opened = openState({ directory, crawl: 'c', agent: 'a' });
  assert.ok(opened.ok);
  const store = new SqliteStore(opened.db, { durability: 'power', hostDelayMs: 1 });
  const other = new Database(join(directory, 'state.sqlite'));
  other.exec('BEGIN EXCLUSIVE');
  assert.equal(store.begin(), false);
  assert.equal(store.commit(true), false, 'the commit was reported as durable');
  other.exec('ROLLBACK');
  other.close();
  assert.equal(store.begin(), true);
  assert.equal(store.commit(true), true);
  store.close();
  opened.unlock();
});
