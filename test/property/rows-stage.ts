// The set-up shared by `rows.test.ts` and `slow/rows.test.ts`.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { PageRecord } from '../../agent/frontier/frontier-store.ts';
import type { Connection } from '../../agent/storage/encoding/connection.ts';
import { openInMemory } from '../../agent/storage/file/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';

export const HOST = 'h.test';
export const NOW = 1_700_000_000_000;
export const urlOf = (i: number) => `http://${HOST}/p${i}`;

export interface Copy {
  readonly db: Connection;
  readonly store: SqliteStore;
}

export function open(): Copy {
  const db = openInMemory();
  return { db, store: new SqliteStore(db, { durability: 'process', hostDelayMs: 0 }) };
}

export type Deed =
  | { kind: 'find'; page: number; depth: number; sitemap?: true }
  | { kind: 'fetch'; page: number; status: number | null; at: number; said?: Said }
  | { kind: 'skip'; page: number }
  | { kind: 'move'; page: number; form: number; hops: number }
  | { kind: 'refresh'; round: number };

/** Optional facts of a page: its place in the archive, and what it says of itself. */
export type Said = Pick<
  PageRecord,
  'warcFile' | 'warcOffset' | 'canonical' | 'noindex' | 'noarchive'
>;

export const said: fc.Arbitrary<Said> = fc.record(
  {
    warcFile: fc.constantFrom('a-1.warc.gz', 'b-1.warc.gz'),
    warcOffset: fc.nat({ max: 3 }),
    canonical: fc.constantFrom(urlOf(1), 'https://other.test/', `https://${HOST}:1/`),
    noindex: fc.constant(true),
    noarchive: fc.constant(true),
  },
  { requiredKeys: [] },
);

export const deed: fc.Arbitrary<Deed> = fc.oneof(
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

export function act({ db, store }: Copy, deeds: readonly Deed[]): void {
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

export function isQueued({ db }: Copy, page: number): boolean {
  return (
    db.prepare('SELECT 1 FROM urls WHERE key = ? AND state = 0').get(`h/p${page}`) !== undefined
  );
}

export function hopsOf(db: Connection, page: number): number {
  return Number(db.prepare('SELECT hops FROM urls WHERE key = ?').pluck().get(`h/p${page}`));
}

/** Sends all rows of `from` to `to`, in pieces of the given sizes, each piece twice. */
export function stream(from: Copy, name: string, to: Copy, pieces: readonly number[]): void {
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

export function state({ db }: Copy): unknown[] {
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

export function counted(copy: Copy): void {
  copy.store.queuedFrom(0, 0); // Writes the counters.
  const counters = 'SELECT sum(queued) AS queued, sum(pages_done) AS pages FROM host_rows';
  const rows = 'SELECT sum(state = 0) AS queued, sum(state IN (1, 2)) AS pages FROM urls';
  const none = { queued: null, pages: null };
  const counted = copy.db.prepare(counters).get() ?? none;
  const found = copy.db.prepare(rows).get() ?? none;
  assert.deepEqual(orZero(counted), orZero(found));
}

export const deeds = fc.array(deed, { maxLength: 40 });
export const pieces = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 });

export function orZero(sums: unknown): unknown {
  const { queued, pages } = sums as { queued: number | null; pages: number | null };
  return { queued: queued ?? 0, pages: pages ?? 0 };
}
