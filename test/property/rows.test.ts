// Tests that copies of host state reach the same merged state, whatever the pieces in which rows
// are sent and the order of senders (PROTOCOL invariants I6 and I8).

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ROBOTS_BYTES_MAX } from '../../agent/robots/robots-txt.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import {
  act,
  type Copy,
  counted,
  type Deed,
  HOST,
  NOW,
  open,
  state,
  stream,
  urlOf,
} from './rows-stage.ts';

describe('rows', () => {
  it('rows that begin above the mark are refused with the mark, and change nothing', () => {
    const [a, b] = [open(), open()];
    act(a, [{ kind: 'find', page: 1, depth: 0 }]);
    const { events } = a.store.rowEvents(HOST, 0, 10, NOW);
    const item = { host: HOST, from: 5, to: 6, events, version: 1, backoffMs: 0, delayMs: 0 };
    const answer = b.store.applyRows('a', item, false, NOW);
    assert.deepEqual(answer, { mark: 0, changed: false });
    assert.deepEqual(state(b), []);
  });

  it('a deleted copy increments the generation and starts again from nothing', () => {
    const [a, b] = [open(), open()];
    act(a, [{ kind: 'fetch', page: 1, status: 200, at: 1 }]);
    stream(a, 'a', b, [10]);
    const generation = b.store.generation();
    b.store.deleteHost(HOST);
    while (b.store.deleteSome(9));
    assert.equal(b.store.generation(), generation + 1);
    assert.equal(b.store.markOf(HOST, 'a'), 0);
    assert.deepEqual(state(b), []);
    counted(b);
    stream(a, 'a', b, [1]);
    assert.deepEqual(state(b), state(a));
  });

  it('all rows can be read again from the tables after a restart', () => {
    const [a, b] = [open(), open()];
    act(a, [
      { kind: 'find', page: 1, depth: 0 },
      { kind: 'fetch', page: 2, status: 404, at: 3 },
      { kind: 'skip', page: 3 },
    ]);
    const again = new SqliteStore(a.db, { durability: 'process', hostDelayMs: 0 });
    stream({ db: a.db, store: again }, 'a', b, [2]);
    assert.deepEqual(state(b), state(a));
  });

  it('robots.txt is sent to the copies with the host, and keeps its age', () => {
    const [a, b, c] = [open(), open(), open()];
    const origin = `http://${HOST}`;
    const save = (fetchedAt: number, body: string | null) => {
      const kind = body === null ? ('allowAll' as const) : ('rules' as const);
      const bytes = body === null ? null : Buffer.from(body);
      const record = { kind, fetchedAt, body: bytes, attempts: 0, retryAt: 0, reason: 'r' };
      a.store.saveRobots(a.store.host(HOST).number, origin, record);
    };
    const told = ({ store }: Copy) => {
      const { kind, fetchedAt, body } = store.robots(store.host(HOST).number, origin)!;
      return { kind, ageMs: NOW - fetchedAt, body: body && Buffer.from(body).toString() };
    };
    act(a, [{ kind: 'find', page: 1, depth: 0 }]);
    save(NOW - 5000, null);
    save(NOW - 1000, 'Disallow: /\u00fc');
    stream(a, 'a', b, [1]);
    assert.deepEqual(told(b), { kind: 'rules', ageMs: 1000, body: 'Disallow: /\u00fc' });
    // Forwards it to a third store, later by a possible transit time, and back to the first.
    const { events, to } = b.store.rowEvents(HOST, 0, 10, NOW + 700);
    const rest = { from: 0, to, version: 1, backoffMs: 0, delayMs: 0 };
    c.store.applyRows('b', { host: HOST, events, ...rest }, false, NOW);
    assert.equal(told(c).ageMs, 1700);
    a.store.applyRows('b', { host: HOST, events, ...rest }, true, NOW);
    assert.equal(told(a).ageMs, 1000);
  });

  it('robots.txt is sent up to its maximum size, unless it was abandoned', () => {
    const a = open();
    act(a, [{ kind: 'find', page: 1, depth: 0 }]);
    const { number } = a.store.host(HOST);
    const record = { fetchedAt: NOW, attempts: 1, retryAt: NOW, reason: '' };
    const robotsSent = () =>
      a.store.rowEvents(HOST, 0, 10, NOW).events.filter(({ kind }) => kind === 'robots').length;
    const body = Buffer.alloc(ROBOTS_BYTES_MAX, 'a');
    a.store.saveRobots(number, 'http://x', { ...record, kind: 'rules', body });
    assert.equal(robotsSent(), 1);
    const none = { ...record, kind: 'unreachable', body: null } as const;
    a.store.saveRobots(number, 'http://x', { ...none, retryAt: Infinity });
    assert.equal(robotsSent(), 0);
    a.store.saveRobots(number, 'http://x', none);
    assert.equal(robotsSent(), 1);
    a.store.saveRobots(number, 'http://x', { ...record, kind: 'allowAll', body: null });
    assert.equal(robotsSent(), 1);
  });

  it('the progress of a robots.txt look-up is sent to the copies, with its wait as a duration', () => {
    const [a, b] = [open(), open()];
    const origin = `http://${HOST}`;
    act(a, [{ kind: 'find', page: 1, depth: 0 }]);
    const { number } = a.store.host(HOST);
    const base = { fetchedAt: NOW - 100, body: null, attempts: 2, reason: 'r', crawlDelayMs: 5000 };
    const hop = { location: `http://${HOST}/r2`, hops: 3 };
    const onTheWay = { ...base, kind: 'redirected', retryAt: 0, hop } as const;
    a.store.saveRobots(number, origin, onTheWay);
    stream(a, 'a', b, [1]);
    const there = () => b.store.robots(b.store.host(HOST).number, origin);
    assert.deepEqual(there(), onTheWay);
    assert.equal(b.store.crawlDelay(b.store.host(HOST).number), 5000);
    const failed = { ...base, kind: 'unreachable', fetchedAt: NOW, retryAt: NOW + 60_000 } as const;
    a.store.saveRobots(number, origin, failed);
    const { events } = a.store.rowEvents(HOST, 0, 10, NOW + 1000);
    const told = events.find(({ kind }) => kind === 'robots');
    assert.deepEqual(told && 'waitMs' in told && told.waitMs, 59_000);
    stream(a, 'a', b, [1]);
    assert.deepEqual(there(), failed);
    const elsewhere = { location: 'http://b.test/robots.txt', hops: 1 };
    a.store.saveRobots(number, origin, { ...failed, hop: elsewhere });
    const fresh = open();
    stream(a, 'a', fresh, [1]);
    const copied = fresh.store.robots(fresh.store.host(HOST).number, origin);
    assert.deepEqual(copied?.hop, elsewhere);
  });

  it('a copy that has a page as requeued has all previous rows, in any pieces', () => {
    const page = (n: number, status: number | null = 200): Deed => {
      return { kind: 'fetch', page: n, status, at: n };
    };
    const known: Deed[] = [page(1), page(9), page(5), { kind: 'refresh', round: 1 }];
    for (const size of [1, 2, 3]) {
      const [a, b] = [open(), open()];
      act(a, known);
      for (let mark = 0; ; ) {
        const { events, to } = a.store.rowEvents(HOST, mark, size, NOW);
        if (to === mark) break;
        const item = { host: HOST, from: mark, to, events, version: 1, backoffMs: 0, delayMs: 0 };
        b.store.applyRows('a', item, false, NOW);
        mark = to;
        const again = b.db.prepare('SELECT count(*) FROM urls WHERE round = 1').pluck().get();
        const all = b.db.prepare('SELECT count(*) FROM urls').pluck().get();
        assert.ok(again === 0 || all === 3, `${again} again, ${all} known`);
      }
      assert.deepEqual(state(b), state(a));
      const { number } = b.store.host(HOST);
      const next = b.store.nextUrl(number, NOW)!;
      assert.deepEqual([next.url, next.previous?.fetchedAt], [urlOf(1), NOW + 1]);
      // The page ends in the new round, so the result of the previous round comes too late.
      act(b, [{ kind: 'refresh', round: 1 }, page(1, 404)]);
      const c = open();
      act(c, [page(1)]);
      stream(c, 'c', b, [5]);
      const row = b.db.prepare("SELECT round, state FROM urls WHERE key = 'h/p1'").get();
      assert.deepEqual(row, { round: 1, state: 1 });
      assert.equal(b.db.prepare('SELECT count(*) FROM former_pages').pluck().get(), 2);
      counted(b);
    }
  });

  it('a page that was not settled is requeued for a full fetch', () => {
    const a = open();
    act(a, [{ kind: 'find', page: 1, depth: 0 }]);
    const { number } = a.store.host(HOST);
    const none = { error: null, contentType: null, bytes: 1, digest: null, redirectTo: null };
    const page = { url: urlOf(1), status: 200, fetchedAt: NOW, durationMs: 1, attempts: 1 };
    a.store.recordPage(number, { ...page, ...none, etag: '"e"' });
    act(a, [{ kind: 'refresh', round: 1 }]);
    const { previous: former, attempts } = a.store.nextUrl(number, NOW)!;
    assert.deepEqual([former?.status, former?.etag, attempts], [200, undefined, 0]);
    counted(a);
  });
});
