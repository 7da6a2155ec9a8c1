// The lists of the URLs of a host: the same rows as the views, each once while the crawl runs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { viewColumns } from '../../../../agent/cli/state-files/query-views.ts';
import { hostsPage } from '../../../../agent/cli/views/query-pages.ts';
import { type UrlsQuery, urlsPage } from '../../../../agent/cli/views/url-pages.ts';
import { placesOfHost } from '../../../../agent/storage/reads/url-lists.ts';
import type { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { type Crawl, crawlOf } from './state-files.ts';

const HOST = 'h.test';
const VIEWS = ['pages', 'frontier', 'skipped'] as const;
type View = (typeof VIEWS)[number];

/** In no order. Number 3 and its multiples come with https. */
const urlOf = (n: number) => `http${n % 3 === 0 ? 's' : ''}://${HOST}/${(n * 7919) % 1009}/${n}`;
const add = (store: SqliteStore, n: number) => {
  store.enqueue(HOST, { url: urlOf(n), depth: 1, referrer: urlOf(1) }, null);
};
const moveTo: Readonly<Record<View, (store: SqliteStore, n: number) => void>> = {
  pages: (store, n) => {
    store.recordPage(store.host(HOST).number, {
      ...{ url: urlOf(n), status: 200, error: null, contentType: 'text/html', bytes: n },
      ...{ digest: null, redirectTo: null, fetchedAt: 1000 + (n % 10), durationMs: 1, attempts: 1 },
    });
  },
  frontier: () => {},
  skipped: (store, n) => store.skip(store.host(HOST).number, urlOf(n), n % 3 ? 'robots' : 'depth'),
};
/** Adds URL `n` to one of the views. */
const put = (store: SqliteStore, n: number) => {
  add(store, n);
  moveTo[VIEWS[n % 4] ?? 'pages'](store, n);
};
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, k) => from + k);

function walk(
  { config }: Crawl,
  view: View,
  query: Partial<UrlsQuery> & { readonly limit: number },
  between: (page: number) => void = () => {},
): string[] {
  const seen: string[] = [];
  let after: string | undefined;
  for (let page = 1; page < 1000; page++) {
    const { rows, next, problems } = urlsPage(config, view, { host: HOST, ...query, after }, []);
    assert.deepEqual(problems, []);
    assert.ok(rows.length <= query.limit);
    seen.push(...rows.map(({ url }) => String(url)));
    if (next === null) return seen;
    after = next;
    between(page);
  }
  throw new Error('the list has no end');
}

for (const view of VIEWS) {
  test(`${view}: a walk has each row once while URLs come, move and change their agent`, (t) => {
    const crawl = crawlOf(t, ['a1', 'a2'], (store, id) => {
      if (id === 'a1') for (const n of numbers(0, 240)) put(store, n);
    });
    const stays = new Set(numbers(80, 240).map(urlOf));
    const before = walk(crawl, view, { limit: 1000 }).filter((url) => stays.has(url));
    assert.ok(before.length >= 40);
    const seen = walk(crawl, view, { limit: 7 }, (page) => {
      const [agent, given] = page < 4 ? ['a1', false] : ['a2', page === 4];
      crawl.change(agent as string, (store) => {
        // The other file has the rows in another order.
        if (given) for (const n of numbers(0, 240 + page * 10).reverse()) put(store, n);
        for (const n of numbers(240 + page * 10, 250 + page * 10)) put(store, n);
        for (const n of numbers(page * 6, page * 6 + 6)) {
          if (page <= 12 && n % 4 === 1) moveTo[page % 2 ? 'pages' : 'skipped'](store, n);
        }
      });
      if (given) crawl.change('a1', (store) => store.deleteHost(HOST));
    });
    assert.deepEqual(seen, [...new Set(seen)], 'no row is repeated');
    const kept = seen.filter((url) => stays.has(url));
    assert.deepEqual(kept, before, 'no row is lost');
  });

  test(`${view}: the list has the rows of the view, sorted by URL, with all columns`, (t) => {
    const crawl = crawlOf(t, ['a1'], (store) => {
      for (const n of numbers(0, 60)) put(store, n);
      store.beginRound(1);
      store.requeueKnown(HOST, 5);
      store.enqueue('other.test', { url: 'http://other.test/', depth: 0 }, null);
    });
    const db = new Database(crawl.fileOf('a1'), { readonly: true });
    t.after(() => db.close());
    const select = `SELECT 'a1' AS agent, ${viewColumns[view]} FROM ${view} WHERE host = ? ORDER BY url`;
    const expected = db.prepare<[string], { url: string }>(select).all(HOST);
    assert.ok(expected.length >= 10);
    const { rows } = urlsPage(crawl.config, view, { host: HOST, limit: 100 }, []);
    assert.deepEqual(rows, expected);
    const urls = expected.map(({ url }) => url);
    assert.deepEqual(walk(crawl, view, { limit: 4 }), urls);
    const some = urls.filter((url) => url.includes('/3'));
    assert.ok(some.length > 1 && some.length < urls.length);
    assert.deepEqual(walk(crawl, view, { limit: 1, search: '/3' }), some);
    const secure = urls.filter((url) => url.startsWith('https'));
    assert.deepEqual(walk(crawl, view, { limit: 9, search: `https://${HOST}/` }), secure);
  });
}

test('pages are sorted by the time of the last response, skipped URLs selected by reason', (t) => {
  const crawl = crawlOf(t, ['a1'], (store) => {
    for (const n of numbers(0, 80)) put(store, n);
  });
  const query = { host: HOST, limit: 100, sort: 'fetched_at' } as const;
  const { rows } = urlsPage(crawl.config, 'pages', query, []);
  const keys = rows.map(({ fetched_at, url }) => [-Number(fetched_at), String(url)] as const);
  const sorted = keys.toSorted((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
  assert.deepEqual(keys, sorted);
  assert.ok(new Set(keys.map(([at]) => at)).size > 2);
  const urls = rows.map(({ url }) => url);
  for (const limit of [1, 3]) assert.deepEqual(walk(crawl, 'pages', { ...query, limit }), urls);
  const all = urlsPage(crawl.config, 'skipped', { host: HOST, limit: 100 }, []).rows;
  const robots = all.filter(({ reason }) => reason === 'robots').map(({ url }) => url);
  assert.ok(robots.length > 0 && robots.length < all.length);
  assert.deepEqual(walk(crawl, 'skipped', { limit: 2, reason: 'robots' }), robots);
});

test('a token that is damaged, or of another list or order, is refused with a remedy', (t) => {
  const { config } = crawlOf(t, ['a1'], (store) => {
    for (const n of numbers(0, 40)) put(store, n);
    store.enqueue('other.test', { url: 'http://other.test/', depth: 0 }, null);
  });
  const pages = (query: Partial<UrlsQuery>) =>
    urlsPage(config, 'pages', { host: HOST, limit: 1, ...query }, []);
  const hosts = (sort: 'host' | 'pages_queued', after?: string) =>
    hostsPage(config, { sort, limit: 1, after }, []);
  const token = pages({}).next!;
  const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const refusals: (readonly [RegExp, () => unknown])[] = [
    [/is no "next"/, () => pages({ after: 'x' })],
    [/is no "next"/, () => pages({ after: '100' })],
    [/is no "next"/, () => pages({ after: token.slice(0, -9) })],
    [/is no "next"/, () => pages({ after: text(null) })],
    [/is no "next"/, () => pages({ after: text([`pages of ${HOST} by url`, null, 'h']) })],
    [/continues pages of h.test by url, not pages of o/, () => pages({ host: 'o', after: token })],
    [/not pages of h.test by fetched_at/, () => pages({ sort: 'fetched_at', after: token })],
    [
      /not skipped of/,
      () => urlsPage(config, 'skipped', { host: HOST, limit: 1, after: token }, []),
    ],
    [/not hosts by host/, () => hosts('host', token)],
    [/hosts by host, not hosts by pages/, () => hosts('pages_queued', hosts('host').next!)],
  ];
  for (const [detail, list] of refusals) {
    assert.throws(list, (error) => {
      assert.ok(error instanceof HttpProblem);
      const { status, code, remedy } = error.document;
      assert.deepEqual([status, code], [400, 'cursor-invalid']);
      assert.match(error.document.detail, detail);
      assert.match(remedy, /"next".* no "after"/);
      return true;
    });
  }
  const [begun, continued] = [pages({}), pages({ after: token })].map(({ rows }) => rows.length);
  assert.deepEqual([begun, continued], [1, 1]);
});

test('URLs longer than a token do not stop a walk', (t) => {
  const long = numbers(0, 3).map((n) => `http://${HOST}/${n}${'x'.repeat(20_000)}`);
  const crawl = crawlOf(t, ['a1'], (store) => {
    for (const url of [`http://${HOST}/`, ...long, `http://${HOST}/z`]) {
      store.enqueue(HOST, { url, depth: 0 }, null);
    }
  });
  assert.equal(walk(crawl, 'frontier', { limit: 1 }).length, 5);
  const [, second] = long;
  const query = { host: HOST, limit: 1, search: second!.slice(0, 900) };
  const { rows } = urlsPage(crawl.config, 'frontier', query, []);
  assert.deepEqual(
    rows.map(({ url }) => url),
    [second],
  );
});

test('a token of any URL fits into a request', (t) => {
  const { config } = crawlOf(t, ['a1'], (store) => {
    for (const end of ['', '/z']) {
      const url = `http://${HOST}/${'\\'.repeat(8185)}${end}`;
      store.enqueue(HOST, { url, depth: 0 }, null);
    }
  });
  const { next } = urlsPage(config, 'frontier', { host: HOST, limit: 1 }, []);
  assert.ok(next!.length <= 15_000, `${next!.length} characters`);
});

test('no list of URLs reads the rows of other hosts', (t) => {
  const { fileOf } = crawlOf(t, ['a1'], () => {});
  const db = new Database(fileOf('a1'), { readonly: true });
  t.after(() => db.close());
  for (const view of VIEWS) {
    for (const sort of view === 'pages' ? (['url', 'fetched_at'] as const) : (['url'] as const)) {
      const sql = placesOfHost(view, { sort, search: 'x', reason: undefined, isContinued: true });
      const values = { host: 'h', search: 'x', sorted: 1, place: Buffer.from('h'), limit: 1 };
      const plan = db
        .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .all(values);
      const steps = plan.map(({ detail }) => detail).filter((step) => /SCAN|SEARCH/.test(step));
      assert.ok(steps.length >= 2);
      for (const step of steps) assert.match(step, /SEARCH . USING/, `${view} by ${sort}`);
    }
  }
});
