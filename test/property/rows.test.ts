// Copies of host state: whatever is streamed, in whatever pieces and order of senders, ends in the
// same merged state (PROTOCOL invariants I6 and I8).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { PageRecord } from '../../agent/frontier/frontier-store.ts';
import { ROBOTS_BYTES_MAX } from '../../agent/robots/robots-txt.ts';
import type { Connection } from '../../agent/storage/encoding/connection.ts';
import { openInMemory } from '../../agent/storage/file/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';

const HOST = 'h.test';
const NOW = 1_700_000_000_000;
const urlOf = (i: number) => `http://${HOST}/p${i}`;

interface Copy {
  readonly db: Connection;
  readonly store: SqliteStore;
}

function open(): Copy {
  const db = openInMemory();
  return { db, store: new SqliteStore(db, { durability: 'process', hostDelayMs: 0 }) };
}

type Deed =
  | { kind: 'find'; page: number; depth: number; sitemap?: true }
  | { kind: 'fetch'; page: number; status: number | null; at: number; said?: Said }
  | { kind: 'skip'; page: number }
  | { kind: 'move'; page: number; form: number; hops: number }
  | { kind: 'refresh'; round: number };

/** What not every page has: where it is archived, and what it says of itself. */
type Said = Pick<PageRecord, 'warcFile' | 'warcOffset' | 'canonical' | 'noindex' | 'noarchive'>;

const said: fc.Arbitrary<Said> = fc.record(
  {
    warcFile: fc.constantFrom('a-1.warc.gz', 'b-1.warc.gz'),
    warcOffset: fc.nat({ max: 3 }),
    canonical: fc.constantFrom(urlOf(1), 'https://other.test/', `https://${HOST}:1/`),
    noindex: fc.constant(true),
    noarchive: fc.constant(true),
  },
  { requiredKeys: [] },
);

const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('find' as const),
      page: fc.nat({ max: 12 }),
      depth: fc.nat({ max: 5 }),
      sitemap: fc.constant(true as const),
    },
    { requiredKeys: ['kind', 'page', 'depth'] },
  ),
  fc.record({
    kind: fc.constant('fetch' as const),
    page: fc.nat({ max: 12 }),
    status: fc.constantFrom(200, 404, null),
    at: fc.integer({ min: 1, max: 50 }),
    said,
  }),
  fc.record({
    kind: fc.constant('move' as const),
    page: fc.nat({ max: 12 }),
    form: fc.nat({ max: 2 }),
    hops: fc.integer({ min: 1, max: 5 }),
  }),
  fc.record({ kind: fc.constant('skip' as const), page: fc.nat({ max: 12 }) }),
  fc.record({ kind: fc.constant('refresh' as const), round: fc.integer({ min: 1, max: 3 }) }),
);

function act({ db, store }: Copy, deeds: readonly Deed[]): void {
  store.begin();
  for (const d of deeds) {
    if (d.kind === 'refresh') {
      if (d.round > store.round()) store.beginRound(d.round);
      for (let over = false; !over; ) over = store.requeueKnown(HOST, 3).over;
      continue;
    }
    const url = urlOf(d.page);
    const sitemap = d.kind === 'find' && d.sitemap ? { sitemap: true } : {};
    store.enqueue(HOST, { url, depth: d.kind === 'find' ? d.depth : 1, ...sitemap }, null);
    const { number } = store.host(HOST);
    if (!isQueued({ db, store }, d.page)) continue;
    if (d.kind === 'move' && d.hops > hopsOf(db, d.page)) {
      const fetchUrl = d.form === 0 ? url : `${url}?${d.form}`;
      store.moveTo(number, url, { fetchUrl, hops: d.hops });
    }
    if (d.kind === 'skip') store.skip(number, url, 'robots');
    if (d.kind === 'fetch') {
      store.recordPage(number, {
        url,
        status: d.status,
        error: d.status === null ? 'reset' : null,
        contentType: null,
        bytes: 1,
        digest: null,
        fetchedAt: NOW + d.at,
        durationMs: 1,
        redirectTo: null,
        attempts: 1,
        ...d.said,
      });
      store.settle(HOST, url);
    }
  }
  store.commit(false);
}

function isQueued({ db }: Copy, page: number): boolean {
  return (
    db.prepare('SELECT 1 FROM urls WHERE key = ? AND state = 0').get(`h/p${page}`) !== undefined
  );
}

function hopsOf(db: Connection, page: number): number {
  return Number(db.prepare('SELECT hops FROM urls WHERE key = ?').pluck().get(`h/p${page}`));
}

/** Streams all that `from` has to `to`, in pieces of the sizes given, each piece sent twice. */
function stream(from: Copy, name: string, to: Copy, pieces: readonly number[]): void {
  for (let i = 0; ; i++) {
    const mark = to.store.markOf(HOST, name);
    const { events, to: upTo } = from.store.rowEvents(HOST, mark, pieces[i % pieces.length]!, NOW);
    if (upTo === mark) return;
    const item = { host: HOST, from: mark, to: upTo, events, version: 1, backoffMs: 0, delayMs: 0 };
    to.store.begin();
    to.store.applyRows(name, item, false, NOW);
    to.store.applyRows(name, item, false, NOW);
    to.store.commit(false);
  }
}

function state({ db }: Copy): unknown[] {
  return db
    .prepare(
      `SELECT u.key, u.round, u.state, u.depth, u.attempts, u.reason,
         iif(u.state = 0, u.sitemap, NULL) AS sitemap,
         iif(u.state = 0, u.hops, NULL) AS hops,
         iif(u.state = 0 AND u.hops > 0, u.fetch_url, NULL) AS form, p.status,
         (SELECT word FROM words WHERE number = p.error) AS error, p.fetched_at,
         (SELECT word FROM words WHERE number = p.warc_file) AS warc_file, p.warc_offset, p.canonical, p.noindex, p.noarchive
       FROM urls u LEFT JOIN page_records p ON p.id = u.id ORDER BY u.key`,
    )
    .all();
}

/** The last answers of pages that are queued again, or were skipped since. */
function formers({ db }: Copy): unknown[] {
  return db
    .prepare(
      `SELECT u.key, f.round, f.attempts, f.status, f.fetched_at
       FROM former_pages f JOIN urls u ON u.id = f.id ORDER BY u.key`,
    )
    .all();
}

function withoutDepth(copy: Copy): unknown[] {
  return state(copy).map((row) => ({ ...(row as object), depth: undefined }));
}

function counted(copy: Copy): void {
  copy.store.queuedFrom(0, 0); // Writes the counters.
  const counters = 'SELECT sum(queued) AS queued, sum(pages_done) AS pages FROM host_rows';
  const rows = 'SELECT sum(state = 0) AS queued, sum(state IN (1, 2)) AS pages FROM urls';
  const none = { queued: null, pages: null };
  const counted = copy.db.prepare(counters).get() ?? none;
  const found = copy.db.prepare(rows).get() ?? none;
  assert.deepEqual(orZero(counted), orZero(found));
}

const deeds = fc.array(deed, { maxLength: 40 });
const pieces = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 });

function orZero(sums: unknown): unknown {
  const { queued, pages } = sums as { queued: number | null; pages: number | null };
  return { queued: queued ?? 0, pages: pages ?? 0 };
}

describe('rows', () => {
  it('a copy that was streamed to the end has the state of its source, in any pieces', () => {
    fc.assert(
      fc.property(deeds, deeds, pieces, (before, after, sizes) => {
        const [a, b] = [open(), open()];
        act(a, before);
        stream(a, 'a', b, sizes);
        act(a, after);
        stream(a, 'a', b, sizes);
        // A queued URL that comes nearer to the root later does so at its owner alone.
        assert.deepEqual(withoutDepth(b), withoutDepth(a));
        assert.deepEqual(formers(b), formers(a));
        counted(b);
      }),
      { numRuns: 60 },
    );
  });

  it('two sources merge to one state, whichever comes first', () => {
    fc.assert(
      fc.property(deeds, deeds, pieces, (one, two, sizes) => {
        const [a, b, ab, ba] = [open(), open(), open(), open()];
        act(a, one);
        act(b, two);
        stream(a, 'a', ab, sizes);
        stream(b, 'b', ab, sizes);
        stream(b, 'b', ba, sizes);
        stream(a, 'a', ba, sizes);
        assert.deepEqual(state(ab), state(ba));
        counted(ab);
        counted(ba);
      }),
      { numRuns: 60 },
    );
  });

  it('rows that begin above the mark are refused with the mark, and change nothing', () => {
    const [a, b] = [open(), open()];
    act(a, [{ kind: 'find', page: 1, depth: 0 }]);
    const { events } = a.store.rowEvents(HOST, 0, 10, NOW);
    const item = { host: HOST, from: 5, to: 6, events, version: 1, backoffMs: 0, delayMs: 0 };
    const answer = b.store.applyRows('a', item, false, NOW);
    assert.deepEqual(answer, { mark: 0, changed: false });
    assert.deepEqual(state(b), []);
  });

  it('a copy that is deleted raises the generation and starts again from nothing', () => {
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

  it('after a restart the whole stream can be read again from the table', () => {
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

  it('robots.txt goes to the copies with the host, and grows no younger on its way', () => {
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
    // On to a third, as much later as a message may be on its way; and back to the first.
    const { events, to } = b.store.rowEvents(HOST, 0, 10, NOW + 700);
    const rest = { from: 0, to, version: 1, backoffMs: 0, delayMs: 0 };
    c.store.applyRows('b', { host: HOST, events, ...rest }, false, NOW);
    assert.equal(told(c).ageMs, 1700);
    a.store.applyRows('b', { host: HOST, events, ...rest }, true, NOW);
    assert.equal(told(a).ageMs, 1000);
  });

  it('robots.txt travels, as large as it is read, unless it was given up', () => {
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

  it('the progress of a robots.txt look-up goes to the copies, its wait as a duration', () => {
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

  it('who has a page as queued again has all that was known with it, in any pieces', () => {
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
      // It ends in the new round; the word of the round before comes too late.
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

  it('a page that was not settled is queued again to be read whole', () => {
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
