// Tests that a deleted host disappears at once from all reads of the file, while its rows are
// deleted in parts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inconsistencies } from '../../../../agent/storage/file/consistency.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { AUDIT_RECORDS, AUDIT_ROWS } from '../../../../agent/storage/reads/audit-queries.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { HOST, pageOf, turn } from '../../../contract/store/store-contract.ts';
import { SLICE_UNITS, Work } from '../../../simulation/work.ts';

const OTHER = 'z.test';
const TABLES = ['urls', 'page_records', 'former_pages', 'robots', 'deleted_hosts'];
const OPTIONS = { durability: 'process', hostDelayMs: 0 } as const;
const urlOf = (n: number, host = HOST) => `http://${host}/${n}`;
const answer = { fetchedAt: 1, body: null, attempts: 0, retryAt: 0, reason: '' };

/**
 * A host with this many URLs: queued, recorded but not settled, settled, and some of a second
 * round.
 */
function open(urls: number) {
  const db = openInMemory();
  const work = new Work();
  const store = new SqliteStore(work.counted(db), OPTIONS);
  turn(store, () => {
    store.enqueue(OTHER, { url: urlOf(0, OTHER), depth: 0 }, null);
    for (let n = 0; n < urls; n++) {
      store.enqueue(HOST, { url: urlOf(n), depth: 1 }, null);
      if (n % 3 === 0) continue;
      store.recordPage(store.host(HOST).number, pageOf(urlOf(n), { status: 200 }));
      if (n % 3 === 1) store.settle(HOST, urlOf(n));
    }
    store.beginRound(1);
    store.requeueKnown(HOST, Math.ceil(urls / 2));
    const { number } = store.host(HOST);
    for (let n = 0; n < 9; n++) {
      store.saveRobots(number, `http://${HOST}:${n + 1}`, { ...answer, kind: 'allowAll' });
    }
  });
  const rows = () =>
    TABLES.map((table) => Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()));
  return { db, store, work, rows };
}

function isConsistent(db: ReturnType<typeof openInMemory>): boolean {
  const pieces = inconsistencies(db, 7);
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value === null;
  }
}

test('deleted hosts: rows are deleted in parts, and no read returns the remaining ones', () => {
  const { db, store, rows } = open(60);
  assert.ok(rows().every((count, table) => count > 0 || TABLES[table] === 'deleted_hosts'));
  turn(store, () => store.deleteHost(HOST));
  assert.equal(rows()[0], 61);
  let pieces = 0;
  for (let more = true; more; pieces++) {
    assert.deepEqual(store.hosts(), [OTHER]);
    assert.deepEqual(store.unsettled(99), []);
    for (const view of ['pages', 'frontier', 'skipped']) {
      const seen = db.prepare(`SELECT DISTINCT host FROM ${view}`).pluck().all();
      assert.deepEqual(seen, view === 'frontier' ? [OTHER] : []);
    }
    assert.equal(db.prepare(AUDIT_ROWS).all().length, 1);
    assert.equal(db.prepare(AUDIT_RECORDS).pluck().get(), 0);
    assert.ok(isConsistent(db));
    const before = rows()[0]!;
    more = turn(store, () => store.deleteSome(10));
    assert.ok(before - rows()[0]! <= 10);
  }
  assert.ok(pieces >= 6);
  assert.deepEqual(rows(), [1, 0, 0, 0, 0]);
});

test('deleted hosts: a host that is found again meanwhile starts anew under another number', () => {
  const { db, store } = open(20);
  const { number } = store.host(HOST);
  turn(store, () => store.deleteHost(HOST));
  turn(store, () => store.deleteSome(5));
  turn(store, () => store.enqueue(HOST, { url: urlOf(3), depth: 0 }, null));
  assert.notEqual(store.host(HOST).number, number);
  while (turn(store, () => store.deleteSome(5)));
  assert.deepEqual(db.prepare("SELECT url FROM frontier WHERE host = 'a.test'").pluck().all(), [
    urlOf(3),
  ]);
  assert.ok(isConsistent(db));
});

test('deleted hosts: the next run of the process continues the deletion', () => {
  const { db, store, rows } = open(20);
  turn(store, () => store.deleteHost(HOST));
  turn(store, () => store.deleteSome(5));
  const again = new SqliteStore(db, OPTIONS);
  while (turn(again, () => again.deleteSome(5)));
  assert.deepEqual(rows(), [1, 0, 0, 0, 0]);
});

test('deleted hosts: the first turn of a deletion costs the same for a large host as for a small one', () => {
  const { store, work } = open(9000);
  const before = work.units;
  turn(store, () => store.deleteHost(HOST));
  assert.ok(work.units - before < SLICE_UNITS / 10, `${work.units - before} units`);
});
