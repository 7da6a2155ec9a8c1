// Tests that pages are requested without conditions in the round after `--repair`: URLs that they
// link to may be lost, and a 304 has no links.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { markRepair, markSuspect, openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const HOST = 'a.test';
const PAGE = 'http://a.test/1';

/** The state of one crawled page. `run` opens it, calls `act` in a turn, and closes it. */
function stateIn(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-state-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const run = <T>(act: (store: SqliteStore) => T): T => {
    const opened = openState({ directory, crawl: 'c', agent: 'a' });
    assert.ok(opened.ok);
    const options = { durability: 'process', hostDelayMs: 0, linkRules: 'one' } as const;
    const store = new SqliteStore(opened.db, options);
    store.begin();
    const result = act(store);
    store.commit(false);
    store.close();
    opened.unlock();
    return result;
  };
  run((store) => {
    store.enqueue(HOST, { url: PAGE, depth: 0 }, null);
    fetched(store, 'v1');
  });
  return { directory, run };
}

/** Fetches the queued page. Returns the entity tag of its conditional request. */
function fetched(store: SqliteStore, etag: string): string | undefined {
  const { number } = store.host(HOST);
  const asked = store.nextUrl(number, 0)?.previous?.etag;
  store.recordPage(number, {
    ...{ url: PAGE, attempts: 1, status: 200, error: null, contentType: null, bytes: 1 },
    ...{ digest: 'd', fetchedAt: 1, durationMs: 1, redirectTo: null, etag },
  });
  store.settle(HOST, PAGE);
  return asked;
}

function refreshed(store: SqliteStore, round: number, etag: string): string | undefined {
  store.beginRound(round);
  store.requeueKnown(HOST, 10);
  return fetched(store, etag);
}

test('refresh: the round after a repair reads pages anew, also after another restart', (t) => {
  const { directory, run } = stateIn(t);
  markRepair(directory);
  run(() => {});
  const after = run((store) => refreshed(store, 10, 'v2'));
  assert.equal(after, undefined);
  const later = run((store) => refreshed(store, 20, 'v3'));
  assert.equal(later, 'v2');
});

test('refresh: a file that was suspected and is sound keeps its conditions', (t) => {
  const { directory, run } = stateIn(t);
  markSuspect(directory);
  const after = run((store) => refreshed(store, 10, 'v2'));
  assert.equal(after, 'v1');
});
