// Tests that pages are queued again if their archive records are lost, although other agents have
// copies of their hosts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RowsItem } from '../../../../agent/core/protocol/messages.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const HOST = 'a.test';
const PAGE = 'http://a.test/1';
const FILE = 'crawl-a1-1.warc.gz';

function open(): { store: SqliteStore; states(): Record<string, number | string | null> } {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 0 });
  const states = () => {
    const rows = db
      .prepare(
        `SELECT u.key, coalesce(u.state, '') AS state, p.warc_offset AS place
         FROM urls u LEFT JOIN page_records p ON p.id = u.id`,
      )
      .all() as { key: string; state: number; place: number | null }[];
    return Object.fromEntries(
      rows.map(({ key, state, place }) => [key, state === 0 ? 'queued' : place]),
    );
  };
  return { store, states };
}

function turn<T>(store: SqliteStore, act: () => T): T {
  store.begin();
  const result = act();
  store.commit(false);
  return result;
}

function fetch(store: SqliteStore, fetchedAt: number, warcOffset: number, etag = ''): void {
  const { number } = store.host(HOST);
  turn(store, () => {
    store.recordPage(number, {
      ...{ url: PAGE, attempts: 1, status: 200, error: null, contentType: null, bytes: 1 },
      ...(etag !== '' && { etag }),
      ...{ digest: null, fetchedAt, durationMs: 1, redirectTo: null, warcFile: FILE, warcOffset },
    });
    store.settle(HOST, PAGE);
  });
}

/** Sends all rows of the host from one store to the other. */
function stream(from: SqliteStore, name: string, to: SqliteStore): void {
  const mark = to.markOf(HOST, name);
  const { events, to: last } = from.rowEvents(HOST, mark, 100, 0);
  const about = { version: from.counter(), backoffMs: 0, delayMs: 0 };
  const item: RowsItem = { host: HOST, from: mark, to: last, events, ...about };
  turn(to, () => to.applyRows(name, item, true, 0));
}

test('reopened: an older done event of a copy does not end a page whose record is lost', () => {
  const owner = open();
  const copy = open();
  turn(owner.store, () => owner.store.enqueue(HOST, { url: PAGE, depth: 0 }, null));
  fetch(owner.store, 1000, 500);
  stream(owner.store, 'a1', copy.store);
  assert.deepEqual(copy.states(), { 'h/1': 500 });

  assert.equal(
    turn(owner.store, () => owner.store.reopenPages(FILE, 500)),
    1,
  );
  stream(copy.store, 'a2', owner.store);
  assert.deepEqual(owner.states(), { 'h/1': 'queued' });
  assert.deepEqual(owner.store.owned(), { hosts: 1, hostsWithQueue: 1, queued: 1, pages: 0 });
});

test('reopened: the copies receive it, and take the record of the later fetch', () => {
  const owner = open();
  const copy = open();
  turn(owner.store, () => owner.store.enqueue(HOST, { url: PAGE, depth: 0 }, null));
  fetch(owner.store, 1000, 500);
  stream(owner.store, 'a1', copy.store);
  turn(owner.store, () => owner.store.reopenPages(FILE, 500));
  stream(owner.store, 'a1', copy.store);
  assert.deepEqual(copy.states(), { 'h/1': 'queued' });
  fetch(owner.store, 2000, 700);
  stream(owner.store, 'a1', copy.store);
  assert.deepEqual(copy.states(), { 'h/1': 700 });
  assert.deepEqual(owner.states(), { 'h/1': 700 });
});

test('reopened: works repeatedly, and in a round that has begun', () => {
  const owner = open();
  const copy = open();
  turn(owner.store, () => owner.store.enqueue(HOST, { url: PAGE, depth: 0 }, null));
  fetch(owner.store, 1000, 100);
  turn(owner.store, () => {
    owner.store.beginRound(7000);
    owner.store.requeueKnown(HOST, 10);
  });
  for (const offset of [200, 300]) {
    fetch(owner.store, 1000 + offset, offset);
    stream(owner.store, 'a1', copy.store);
    turn(owner.store, () => owner.store.reopenPages(FILE, offset));
    stream(copy.store, 'a2', owner.store);
    assert.deepEqual(owner.states(), { 'h/1': 'queued' });
  }
  turn(owner.store, () => owner.store.beginRound(9000));
  assert.deepEqual(turn(owner.store, () => owner.store.requeueKnown(HOST, 10)).queued, 1);
});

test('reopened: a URL skipped for its depth, when another host links to it', () => {
  const owner = open();
  const copy = open();
  const found = (depth: number, skip: 'depth' | 'trap' | null) =>
    turn(owner.store, () => owner.store.enqueue(HOST, { url: PAGE, depth }, skip));
  found(17, 'depth');
  stream(owner.store, 'a1', copy.store);
  assert.equal(found(18, 'depth'), 'known');
  assert.equal(found(0, 'trap'), 'known');
  assert.equal(found(0, null), 'new');
  assert.equal(found(0, null), 'known');
  assert.equal(owner.store.nextUrl(owner.store.host(HOST).number, 0, 0)?.depth, 0);
  stream(owner.store, 'a1', copy.store);
  assert.deepEqual(copy.states(), { 'h/1': 'queued' });
  assert.equal(copy.store.nextUrl(copy.store.host(HOST).number, 0, 0)?.depth, 0);
  assert.deepEqual(owner.store.owned(), { hosts: 1, hostsWithQueue: 1, queued: 1, pages: 0 });
});

test('reopened: among networks, a URL skipped for its depth waits for their verdict', () => {
  const store = new SqliteStore(openInMemory(), {
    ...{ durability: 'process', hostDelayMs: 0, isShared: true },
  });
  turn(store, () => store.setOwned(HOST, true));
  turn(store, () => store.enqueue(HOST, { url: PAGE, depth: 17 }, 'depth'));
  turn(store, () => store.enqueue(HOST, { url: PAGE, depth: 0 }, null));
  assert.equal(store.nextUrlAt(store.host(HOST).number), 'networks');
  assert.deepEqual(store.networks!.takeNews().waiting, [PAGE]);
});

test('reopened: an agent that has no URL when a round begins reads all pages whole', () => {
  const [owner, fresh] = [open(), open()];
  turn(owner.store, () => owner.store.enqueue(HOST, { url: PAGE, depth: 0 }, null));
  fetch(owner.store, 1000, 500, 'v1');
  turn(fresh.store, () => fresh.store.beginRound(10));
  stream(owner.store, 'a1', fresh.store);
  for (const [store, etag] of [
    [fresh.store, undefined],
    [owner.store, 'v1'],
  ] as const) {
    turn(store, () => {
      store.beginRound(10);
      store.requeueKnown(HOST, 10);
    });
    const asked = store.nextUrl(store.host(HOST).number, 0, 0);
    assert.deepEqual([asked?.url, asked?.previous?.etag], [PAGE, etag]);
  }
});
