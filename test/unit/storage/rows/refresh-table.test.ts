// Tests that a new round requests pages without conditions if the rules for links have changed, but
// with conditions if redirects led back to the page, and robots.txt again if it was given up.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { asForm } from '../../../../agent/url/crawl-url.ts';

const HOST = 'a.test';
const PAGE = 'http://a.test/1';
const WALL = 'http://a.test/wall';

/** One state file that is opened with the rules of several configs, one after the other. */
function stateOf() {
  const db = openInMemory();
  let store: SqliteStore;
  const turn = (act: (of: SqliteStore) => void) => {
    store.begin();
    act(store);
    store.commit(false);
  };
  return {
    open: (linkRules: string) => {
      store = new SqliteStore(db, { durability: 'process', hostDelayMs: 0, linkRules });
    },
    begin: (round: number) =>
      turn((of) => {
        of.beginRound(round);
        of.requeueKnown(HOST, 10);
      }),
    enqueue: () => turn((of) => of.enqueue(HOST, { url: PAGE, depth: 0 }, null)),
    /** Saves a robots.txt that was unreachable. */
    failRobots: (origin: string, retryAt: number) =>
      turn((of) => {
        const failed = { kind: 'unreachable', fetchedAt: 1, body: null, attempts: 4 } as const;
        of.saveRobots(of.host(HOST).number, origin, { ...failed, retryAt, reason: 'reset' });
      }),
    robots: (origin: string) => store.robots(store.host(HOST).number, origin)?.retryAt,
    /** Fetches the queued page. Returns the entity tag of its conditional request. */
    fetch: (etag: string, redirectTo: string | null = null) => {
      const { number } = store.host(HOST);
      const asked = store.nextUrl(number, 0)?.previous?.etag;
      turn((of) => {
        of.recordPage(number, {
          ...{ url: PAGE, attempts: 1, status: 200, error: null, contentType: null, bytes: 1 },
          ...{ digest: 'd', fetchedAt: 1, durationMs: 1, redirectTo, etag },
        });
        of.settle(HOST, PAGE);
      });
      return asked;
    },
    /** Redirects have led from the page over {@link WALL} back to it. */
    leadBack: (isWhole = false) =>
      turn((of) => {
        const way = { from: WALL, fetchUrl: asForm(PAGE), isOther: true, isWhole, hopsMax: 5 };
        assert.ok(of.requestAgainAs(of.host(HOST).number, PAGE, way));
      }),
    formers: () => db.prepare('SELECT count(*) FROM former_pages').pluck().get(),
  };
}

test('refresh: pages are requested without conditions after the rules for links changed', () => {
  const state = stateOf();
  state.open('one');
  state.enqueue();
  assert.equal(state.fetch('v1'), undefined);
  state.begin(10);
  assert.equal(state.fetch('v2'), 'v1');
  state.open('two');
  state.begin(20);
  assert.equal(state.fetch('v3'), undefined);
  state.begin(30);
  state.open('two');
  assert.equal(state.fetch('v4'), 'v3');
});

test('refresh: a change during a round concerns the rest of it and all of the next', () => {
  const state = stateOf();
  state.open('one');
  state.enqueue();
  state.fetch('v1');
  state.begin(10);
  state.open('two');
  assert.equal(state.fetch('v2'), undefined);
  state.open('one');
  state.begin(20);
  assert.equal(state.fetch('v3'), undefined);
  state.open('one');
  state.begin(30);
  assert.equal(state.fetch('v4'), 'v3');
});

test('refresh: a robots.txt that was given up is requested again', () => {
  const state = stateOf();
  state.open('one');
  state.enqueue();
  state.failRobots('http://a.test', Infinity);
  state.failRobots('http://a.test:81', 500);
  state.begin(10);
  assert.equal(state.robots('http://a.test'), undefined);
  assert.equal(state.robots('http://a.test:81'), 500);
});

test('refresh: a page to which its redirect led back is requested with conditions', () => {
  const state = stateOf();
  state.open('one');
  state.enqueue();
  state.fetch('none', WALL);
  state.leadBack();
  assert.equal(state.fetch('v1'), undefined);
  for (const [round, former, present] of [
    [10, 'v1', 'v2'],
    [20, 'v2', 'v3'],
  ] as const) {
    state.begin(round);
    assert.equal(state.fetch('none', WALL), former);
    state.leadBack();
    assert.equal(state.fetch('none', WALL), former, 'the wall asked twice');
    state.leadBack();
    assert.equal(state.fetch(present), former);
    assert.equal(state.formers(), 0);
  }
});

test('refresh: a page whose links the redirect replaced is requested without conditions', () => {
  const state = stateOf();
  state.open('one');
  state.enqueue();
  state.fetch('v1');
  state.begin(10);
  assert.equal(state.fetch('none', WALL), 'v1');
  state.leadBack(true);
  assert.equal(state.fetch('v2'), undefined);
});

test('refresh: a page that became a redirect is kept for one round', () => {
  const state = stateOf();
  state.open('one');
  state.enqueue();
  state.fetch('v1');
  state.begin(10);
  assert.equal(state.fetch('r1', WALL), 'v1');
  assert.equal(state.formers(), 1);
  state.begin(20);
  assert.equal(state.fetch('r2', WALL), 'r1');
  assert.equal(state.formers(), 0);
});
