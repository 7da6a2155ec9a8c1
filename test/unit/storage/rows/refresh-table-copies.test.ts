// Tests that a page which was read under former rules for links is requested without conditions by
// an agent that got it from another one, and whose state file knows only the present rules.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection } from '../../../../agent/storage/encoding/connection.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { turn } from '../../../contract/store/store-contract.ts';

const HOST = 'a.test';
const PAGE = 'http://a.test/1';

function open(db: Connection, linkRules: string): SqliteStore {
  return new SqliteStore(db, { durability: 'process', hostDelayMs: 0, linkRules });
}

/** The entity tag of the conditional request for the queued page. */
function asked(store: SqliteStore): string | undefined {
  return store.nextUrl(store.host(HOST).number, 0)?.previous?.etag;
}

function fetchPage(store: SqliteStore, etag: string): void {
  turn(store, () => {
    store.enqueue(HOST, { url: PAGE, depth: 0 }, null);
    const { number } = store.host(HOST);
    store.recordPage(number, {
      ...{ url: PAGE, attempts: 1, status: 200, error: null, contentType: null, bytes: 1 },
      ...{ digest: 'd', fetchedAt: 1, durationMs: 1, redirectTo: null, etag },
    });
    store.settle(HOST, PAGE);
  });
}

function requeue(store: SqliteStore, round: number): void {
  turn(store, () => {
    store.beginRound(round);
    store.requeueKnown(HOST, 10);
  });
}

/** A new agent with the rules `two` that gets all rows of the host. */
function newOwner(from: SqliteStore): SqliteStore {
  const store = open(openInMemory(), 'two');
  let at = 0;
  for (let slice = 0; slice < 5; slice++) {
    const { events, to } = turn(from, () => from.rowEvents(HOST, at, 100, 0));
    const item = { host: HOST, from: at, to, events, version: to, backoffMs: 0, delayMs: 0 };
    turn(store, () => store.applyRows('a', item, true, 0));
    at = to;
  }
  return store;
}

test('refresh: a new owner requests pages of former rules without conditions', () => {
  const db = openInMemory();
  fetchPage(open(db, 'one'), 'v1');
  const owner = newOwner(open(db, 'two'));
  requeue(owner, 10);
  assert.equal(asked(owner), undefined);
});

test('refresh: a new owner does so too if it gets them within the round', () => {
  const db = openInMemory();
  const former = open(db, 'one');
  fetchPage(former, 'v1');
  requeue(former, 10);
  assert.equal(asked(former), 'v1');
  assert.equal(asked(newOwner(open(db, 'two'))), undefined);
});

test('refresh: a new owner requests pages of the present rules with conditions', () => {
  const db = openInMemory();
  const first = open(db, 'two');
  fetchPage(first, 'v1');
  const owner = newOwner(first);
  requeue(owner, 10);
  assert.equal(asked(owner), 'v1');
});

test('refresh: a round under the present rules ends the doubt for new owners, too', () => {
  const db = openInMemory();
  fetchPage(open(db, 'one'), 'v1');
  const first = open(db, 'two');
  requeue(first, 10);
  assert.equal(asked(first), undefined);
  fetchPage(first, 'v2');
  const owner = newOwner(first);
  requeue(owner, 20);
  assert.equal(asked(owner), 'v2');
});
