// Runs the store contract on a file, with both durabilities, and in memory. Tests failed turns and
// concurrent readers of a file, and the host cache in memory.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { openInMemory, openState } from '../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../agent/storage/sqlite-store.ts';
import type { Durability } from '../../../agent/storage/store-options.ts';
import './outbox-contract.ts';
import { at, HOST, pageOf, type StoreUnderTest, storeContract, turn } from './store-contract.ts';

/** `levels`: the value of `PRAGMA synchronous` at each commit of a turn; 2 is FULL, 1 NORMAL. */
function inFile(
  durability: Durability,
  levels: unknown[] = [],
): StoreUnderTest & { readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-store-'));
  const open = () => {
    const opened = openState({ directory, crawl: 'c', agent: 'a' });
    assert.ok(opened.ok, opened.ok ? '' : opened.message);
    const { db } = opened;
    const exec = db.exec.bind(db);
    db.exec = (sql) => {
      if (sql === 'COMMIT') levels.push(db.pragma('synchronous', { simple: true }));
      return exec(sql);
    };
    const store = new SqliteStore(db, { durability, hostDelayMs: 1000 });
    return { store, unlock: opened.unlock };
  };
  let current = open();
  return {
    directory,
    store: current.store,
    reopened() {
      current.store.close();
      current.unlock();
      current = open();
      return current.store;
    },
    dispose() {
      current.store.close();
      current.unlock();
      rmSync(directory, { recursive: true });
    },
  };
}

function inMemory(): StoreUnderTest {
  const db = openInMemory();
  const open = () => new SqliteStore(db, { durability: 'process', hostDelayMs: 1000 });
  return { store: open(), reopened: open, dispose: () => db.close() };
}

for (const [kind, open] of [
  ['file', () => inFile('power')],
  ['file without fsync', () => inFile('process')],
  ['memory', inMemory],
] as const) {
  storeContract(kind, open);
}

test('file: nothing of a failed turn is stored', () => {
  const whole = inFile('power');
  const { store } = whole;
  turn(store, () => store.enqueue(HOST, { url: at('/1'), depth: 0 }, null));
  store.begin();
  store.enqueue(HOST, { url: at('/2'), depth: 0 }, null);
  store.recordPage(store.host(HOST).number, pageOf(at('/1')));
  const again = whole.reopened();
  assert.equal(again.owned().queued, 1);
  assert.equal(again.owned().pages, 0);
  whole.dispose();
});

for (const [durability, synced, levelsThen] of [
  ['power', 1, [1, 1, 2, 1]],
  ['process', 0, [0, 0, 0, 0]],
] as const) {
  test(`file: a durable commit makes ${synced} fsync of the log with durability ${durability}`, () => {
    const levels: unknown[] = [];
    const whole = inFile(durability, levels);
    const syncs = () => {
      const reader = new Database(join(whole.directory, 'state.sqlite'), { readonly: true });
      const value = reader.prepare("SELECT value FROM meta WHERE key = 'syncs'").pluck().get();
      reader.close();
      return Number(value ?? 0);
    };
    const before = syncs();
    turn(whole.store, () => {});
    assert.equal(syncs(), before);
    whole.store.begin();
    whole.store.commit(true);
    assert.equal(syncs(), before + synced);
    whole.store.begin(true);
    whole.store.commit(true);
    assert.equal(syncs(), before + 2 * synced);
    turn(whole.store, () => {});
    assert.deepEqual(levels, levelsThen);
    whole.dispose();
  });
}

test('file: a reader sees only complete turns while a writer is active', () => {
  const whole = inFile('process');
  const { store } = whole;
  const reader = new Database(join(whole.directory, 'state.sqlite'), { readonly: true });
  const read = () =>
    reader
      .prepare('SELECT (SELECT count(*) FROM frontier), sum(pages_queued) FROM hosts')
      .raw()
      .get() as [number, number | null];
  for (let n = 0; n < 30; n++) {
    store.begin();
    for (let k = 0; k < 10; k++) {
      store.enqueue(HOST, { url: at(`/${n}/${k}`), depth: 0 }, null);
      if (k === 5) assert.deepEqual(read(), n === 0 ? [0, null] : [n * 10, n * 10]);
    }
    store.commit(false);
    assert.deepEqual(read(), [n * 10 + 10, n * 10 + 10]);
  }
  assert.throws(() => reader.exec('DELETE FROM urls'));
  reader.close();
  whole.dispose();
});

test('memory: counters stay correct with more hosts than the cache holds', () => {
  const { store, reopened, dispose } = inMemory();
  const hosts = 21_000;
  const host = (n: number) => `h${n}.test`;
  store.begin();
  for (let n = 0; n < hosts; n++) {
    store.enqueue(host(n), { url: at('/1', host(n)), depth: 0 }, null);
  }
  store.commit(false);
  store.begin();
  for (let n = 0; n < hosts; n += 7) {
    const { number } = store.host(host(n));
    store.enqueue(host(n), { url: at('/2', host(n)), depth: 0 }, null);
    store.recordPage(number, pageOf(at('/1', host(n))));
  }
  store.commit(false);
  const again = reopened();
  for (const { queuedCount, pageCount } of [store, again].map((s) => ({
    queuedCount: s.owned().queued,
    pageCount: s.owned().pages,
  }))) {
    assert.equal(queuedCount, hosts);
    assert.equal(pageCount, hosts / 7);
  }
  for (let n = 0; n < hosts; n += 500) {
    assert.equal(again.queuedOf(host(n)), 1);
    assert.equal(again.pagesDone(again.host(host(n)).number), n % 7 === 0 ? 1 : 0);
  }
  dispose();
});

test('memory: a host with unwritten counters is not read again from the database', () => {
  const { store, dispose } = inMemory();
  const host = (n: number) => `h${n}.test`;
  const insert = (n: number, path: string) =>
    store.enqueue(host(n), { url: at(path, host(n)), depth: 0 }, null);
  turn(store, () => insert(0, '/1'));
  turn(store, () => {
    for (let n = 1; n < 21_000; n++) insert(n, '/1');
  });
  store.begin();
  insert(0, '/2');
  for (let n = 1; n < 21_000; n++) store.queuedOf(host(n));
  insert(0, '/3');
  store.commit(false);
  assert.equal(store.queuedOf(host(0)), 3);
  assert.equal(store.owned().queued, 21_002);
  dispose();
});
