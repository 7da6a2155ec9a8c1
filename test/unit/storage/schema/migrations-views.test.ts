// Tests the views of docs/VIEWS.md: the names and order of their columns, and their contents for
// each kind of URL.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { PageRecord } from '../../../../agent/frontier/frontier-store.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { DirectiveTable } from '../../../../agent/storage/tables/directive-table.ts';
import { parseCrawlUrl } from '../../../../agent/url/crawl-url.ts';

const AT = 1_700_000_000_000;

function fixture() {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 1500 });
  const hostOf = (url: string) => {
    const parsed = parseCrawlUrl(url);
    assert.ok(!('refused' in parsed) && parsed.identity === url, url);
    return parsed.host;
  };
  const turn = (act: () => void) => {
    store.begin();
    act();
    store.commit(false);
  };
  return {
    store,
    db,
    turn,
    rows: (sql: string) => db.prepare(sql).all() as Record<string, unknown>[],
    insert(url: string, referrer?: string, depth = 1, fetchUrl?: string) {
      const item = {
        url,
        depth,
        ...(referrer ? { referrer } : {}),
        ...(fetchUrl ? { fetchUrl } : {}),
      };
      turn(() => store.enqueue(hostOf(url), item, null));
    },
    finish(url: string, rest: Partial<PageRecord> = {}) {
      const none = { error: null, contentType: null, bytes: 0, digest: null, redirectTo: null };
      const page = {
        url,
        status: 200,
        fetchedAt: AT,
        durationMs: 1,
        attempts: 1,
        ...none,
        ...rest,
      };
      turn(() => store.recordPage(store.host(hostOf(url)).number, page));
    },
    record(host: string, change: object, ip: string | null = null) {
      turn(() => store.saveHost({ ...store.host(host), ...change }, ip));
    },
  };
}

const columns: Record<string, string> = {
  pages:
    'url fetch_url host depth status content_type bytes digest fetched_at duration_ms error ' +
    'redirect_to referrer attempts warc_file warc_offset canonical noindex noarchive unchanged round ' +
    'queued_again skipped',
  frontier: 'url host depth attempts not_before referrer round state network',
  skipped: 'url host reason referrer round network',
  hosts:
    'host ip pages_done pages_queued out_of_scope delay_ms robots last_fetch_at next_fetch_at state',
  links: 'source target',
  events: 'at kind detail',
};

for (const [view, names] of Object.entries(columns)) {
  test(`views: ${view} has the columns of docs/VIEWS.md`, () => {
    const { db } = fixture();
    const told = db.prepare(`SELECT * FROM ${view}`).columns();
    assert.equal(told.map(({ name }) => name).join(' '), names);
  });
}

const spellings = [
  'http://a.test/',
  'https://a.test/x?y=1',
  'http://a.test:8080/x',
  'https://a.test:8443/',
  'https://a.test./dot',
  'http://a.test.:81/dot',
  'http://[2001:db8::1]/six',
  'https://[2001:db8::1]:444/six',
  'http://192.0.2.7/four',
  'http://xn--bcher-kva.test/%C3%BC',
  'http://t/',
  'http://ttp/x',
  'https://http/s',
  'http://https.test/',
];

test('views: every kind of URL is read back unchanged, with its host', () => {
  const f = fixture();
  for (const url of spellings) f.insert(url);
  for (const [n, url] of spellings.entries()) {
    if (n % 3 === 0) f.finish(url);
    if (n % 3 === 1) {
      const { host } = parseCrawlUrl(url) as { host: string };
      f.turn(() => f.store.skip(f.store.host(host).number, url, 'robots'));
    }
  }
  const all = ['pages', 'skipped', 'frontier'].flatMap((v) => f.rows(`SELECT url, host FROM ${v}`));
  assert.deepEqual(new Set(all.map(({ url }) => url)), new Set(spellings));
  for (const { url, host } of all) {
    assert.equal((parseCrawlUrl(url as string) as { host: string }).host, host);
  }
});

test('views: a referrer is a complete URL, whatever its host and the names of hosts', () => {
  for (const url of spellings) {
    const f = fixture();
    // Each referrer has its own path, on the host of the URL that it refers to and on the others.
    const referrers = [...spellings, `${new URL(url).origin}/tt`, `${new URL(url).origin}/`];
    const wanted = new Map<string, string>();
    for (const [n, referrer] of referrers.entries()) {
      const found = new URL(`/found${n}`, url).href;
      wanted.set(found, referrer);
      f.insert(found, referrer);
      if (n % 3 === 0) f.finish(found);
    }
    const told = ['pages', 'frontier'].flatMap((v) => f.rows(`SELECT url, referrer FROM ${v}`));
    assert.deepEqual(new Map(told.map((row) => [row.url, row.referrer])), wanted);
  }
});

test('views: a seed has no referrer', () => {
  const f = fixture();
  f.insert('http://a.test/');
  assert.deepEqual(f.rows('SELECT referrer FROM frontier'), [{ referrer: null }]);
});

test('views: pages has the response, with times in whole milliseconds', () => {
  const f = fixture();
  f.insert('http://a.test/~', 'http://b.test/', 2, 'http://a.test/%7E');
  f.finish('http://a.test/~', {
    status: 301,
    contentType: 'text/html',
    bytes: 321,
    digest: 'sha1:X',
    fetchedAt: AT + 0.6,
    durationMs: 12.4,
    redirectTo: 'http://c.test/',
    error: 'truncated',
    attempts: 3,
    warcFile: 'a1-x.warc.gz',
    warcOffset: 77,
    canonical: 'http://a.test/',
    noindex: true,
  });
  assert.deepEqual(f.rows('SELECT * FROM pages'), [
    {
      url: 'http://a.test/~',
      fetch_url: 'http://a.test/%7E',
      host: 'a.test',
      depth: 2,
      status: 301,
      content_type: 'text/html',
      bytes: 321,
      digest: 'sha1:X',
      fetched_at: AT + 1,
      duration_ms: 12,
      error: 'truncated',
      redirect_to: 'http://c.test/',
      referrer: 'http://b.test/',
      attempts: 3,
      warc_file: 'a1-x.warc.gz',
      warc_offset: 77,
      canonical: 'http://a.test/',
      noindex: 1,
      noarchive: 0,
      unchanged: 0,
      round: 0,
      queued_again: 0,
      skipped: null,
    },
  ]);
});

test('views: a canonical form is a complete URL, on this host or another', () => {
  const f = fixture();
  for (const [n, canonical] of spellings.entries()) {
    f.insert(`http://a.test/${n}`);
    f.finish(`http://a.test/${n}`, { canonical });
  }
  const told = f.rows('SELECT canonical FROM pages ORDER BY CAST(substr(url, 15) AS INTEGER)');
  assert.deepEqual(
    told.map(({ canonical }) => canonical),
    spellings,
  );
});

test('views: pages with a status are done, those without failed', () => {
  const f = fixture();
  for (const n of [1, 2, 3]) f.insert(`http://a.test/${n}`);
  f.finish('http://a.test/1');
  f.finish('http://a.test/2', { status: null, error: 'dns' });
  assert.deepEqual(f.rows('SELECT url, error FROM pages WHERE status IS NULL'), [
    { url: 'http://a.test/2', error: 'dns' },
  ]);
  assert.deepEqual(f.rows('SELECT pages_done, pages_queued FROM hosts'), [
    { pages_done: 2, pages_queued: 1 },
  ]);
});

test('views: frontier has the later wait of the URL and its host', () => {
  const f = fixture();
  for (const n of [1, 2]) f.insert(`http://a.test/${n}`);
  f.turn(() =>
    f.store.requeue(f.store.host('a.test').number, 'http://a.test/2', {
      attempts: 1,
      failedSince: 5,
      notBefore: AT + 900.7,
    }),
  );
  const sql = 'SELECT attempts, not_before FROM frontier ORDER BY url';
  assert.deepEqual(f.rows(sql), [
    { attempts: 0, not_before: 0 },
    { attempts: 1, not_before: AT + 900 },
  ]);
  f.record('a.test', { notBefore: AT + 500 });
  assert.deepEqual(f.rows(sql)[0], { attempts: 0, not_before: AT + 500 });
});

test('views: hosts has the state of each host', () => {
  const f = fixture();
  const names = ['new', 'visited', 'backing', 'done'].map((name) => `${name}.test`);
  for (const host of names) f.insert(`http://${host}/`);
  f.finish('http://done.test/');
  for (const host of names.slice(1)) f.record(host, { lastFetchAt: AT + 0.5 }, '192.0.2.1');
  f.record('backing.test', { notBefore: AT + 60_000 });
  f.turn(() => f.store.countOutOfScope(f.store.host('new.test').number, 4));
  const sql =
    'SELECT host, ip, out_of_scope, delay_ms, last_fetch_at, next_fetch_at, state FROM hosts';
  const [fresh, visited, backing, done] = f.rows(sql);
  const seen = { ip: '192.0.2.1', out_of_scope: 0, delay_ms: 1500, last_fetch_at: AT };
  assert.deepEqual(fresh, {
    host: 'new.test',
    ip: null,
    out_of_scope: 4,
    delay_ms: 1500,
    last_fetch_at: null,
    next_fetch_at: 0,
    state: 'waiting',
  });
  const [, host2, host3, host4] = names;
  assert.deepEqual(visited, { host: host2, ...seen, next_fetch_at: AT + 1500, state: 'visiting' });
  assert.deepEqual(backing, {
    host: host3,
    ...seen,
    next_fetch_at: AT + 60_000,
    state: 'backing off',
  });
  assert.deepEqual(done, { host: host4, ...seen, next_fetch_at: null, state: 'done' });
});

test('views: a host backs off while all its queued URLs wait for a retry', () => {
  const f = fixture();
  f.insert('http://a.test/1');
  f.record('a.test', { lastFetchAt: AT });
  const { number } = f.store.host('a.test');
  const hostIs = (state: string, nextAt: number) => {
    assert.deepEqual(f.rows('SELECT state, next_fetch_at FROM hosts'), [
      { state, next_fetch_at: nextAt },
    ]);
  };
  const retry = { attempts: 1, failedSince: AT, notBefore: AT + 60_000 };
  f.turn(() => f.store.requeue(number, 'http://a.test/1', retry));
  hostIs('backing off', AT + 60_000);
  f.turn(() => f.store.nextUrl(number, AT + 60_000));
  const atOnce = { state: 'visiting', next_fetch_at: AT + 1500 };
  assert.deepEqual(f.rows('SELECT state, next_fetch_at FROM hosts'), [atOnce]);
  f.turn(() => f.store.requeue(number, 'http://a.test/1', retry));
  hostIs('backing off', AT + 60_000);
  f.insert('http://a.test/2');
  assert.deepEqual(f.rows('SELECT state, next_fetch_at FROM hosts'), [atOnce]);
  // Taken over from another agent.
  f.insert('http://b.test/');
  f.record('b.test', { notBefore: AT });
  assert.deepEqual(f.rows("SELECT state FROM hosts WHERE host = 'b.test'"), [
    { state: 'backing off' },
  ]);
});

test('views: orders has the directives in force, and hosts the delay of the most specific one', () => {
  const { db, insert, rows } = fixture();
  const orders = new DirectiveTable(db);
  for (const host of ['a.x.test', 'b.x.test', 'y.test']) insert(`http://${host}/`);
  const give = (kind: 'block' | 'delay', host: string, value: number | null, n: number) =>
    orders.saveDirective({ kind, host, value, n, by: 'a1' }, AT + n);
  give('delay', '*.x.test', 5000, 1);
  give('delay', 'a.x.test', 7000, 2);
  give('block', '*.z.test', 1, 3);
  give('block', 'gone.test', null, 4);
  assert.deepEqual(rows('SELECT * FROM orders ORDER BY applied_at'), [
    { kind: 'delay', host: '*.x.test', value: 5000, given_by: 'a1', applied_at: AT + 1 },
    { kind: 'delay', host: 'a.x.test', value: 7000, given_by: 'a1', applied_at: AT + 2 },
    { kind: 'block', host: '*.z.test', value: 1, given_by: 'a1', applied_at: AT + 3 },
  ]);
  assert.deepEqual(rows('SELECT host, delay_ms FROM hosts ORDER BY host'), [
    { host: 'a.x.test', delay_ms: 7000 },
    { host: 'b.x.test', delay_ms: 5000 },
    { host: 'y.test', delay_ms: 1500 },
  ]);
});

test('views: hosts has the latest answer of robots.txt', () => {
  const f = fixture();
  f.insert('http://a.test/');
  const { number } = f.store.host('a.test');
  const base = { body: null, attempts: 0, retryAt: 0, reason: '' };
  f.turn(() => {
    f.store.saveRobots(number, 'http://a.test', { ...base, kind: 'rules', fetchedAt: AT });
    f.store.saveRobots(number, 'https://a.test', { ...base, kind: 'allowAll', fetchedAt: AT + 1 });
  });
  assert.deepEqual(f.rows('SELECT robots FROM hosts'), [{ robots: 'allowAll' }]);
});

test('views: events has the time, the kind, and the details as JSON', () => {
  const f = fixture();
  f.turn(() => f.store.event(AT + 0.9, 'takeover', { from: 'a2', hosts: 3 }));
  assert.deepEqual(f.rows('SELECT * FROM events'), [
    { at: AT, kind: 'takeover', detail: '{"from":"a2","hosts":3}' },
  ]);
});

const LAST = 'SELECT url, status, digest, attempts, round, queued_again FROM pages ORDER BY url';

test('views: while a page is queued again, pages has its last answer and that round', () => {
  const f = fixture();
  for (const n of [1, 2, 3]) f.insert(`http://a.test/${n}`);
  f.finish('http://a.test/1', { digest: 'one', attempts: 2 });
  f.finish('http://a.test/2', { status: null, error: 'dns' });
  f.turn(() => f.store.settle('a.test', 'http://a.test/1'));
  const before = f.rows(LAST);
  f.turn(() => f.store.beginRound(7));
  f.turn(() => f.store.requeueKnown('a.test', 100));
  assert.deepEqual(
    f.rows(LAST),
    before.map((row) => ({ ...row, queued_again: 1 })),
  );
  assert.deepEqual(f.rows('SELECT url, attempts, round FROM frontier ORDER BY url'), [
    { url: 'http://a.test/1', attempts: 0, round: 7 },
    { url: 'http://a.test/2', attempts: 0, round: 7 },
    { url: 'http://a.test/3', attempts: 0, round: 7 },
  ]);
  assert.deepEqual(f.rows('SELECT pages_done, pages_queued FROM hosts'), [
    { pages_done: 0, pages_queued: 3 },
  ]);

  f.finish('http://a.test/1', { digest: 'two' });
  const url = 'http://a.test/1';
  assert.deepEqual(f.rows(LAST), [
    { ...{ url, status: 200, digest: 'two', attempts: 1, round: 7, queued_again: 0 } },
    { ...before[1], queued_again: 1 },
  ]);
  // A second round begins before the first has ended; the answer keeps its own round.
  f.turn(() => f.store.beginRound(8));
  f.turn(() => f.store.requeueKnown('a.test', 100));
  assert.deepEqual(f.rows(LAST), [
    { ...{ url, status: 200, digest: 'two', attempts: 1, round: 7, queued_again: 1 } },
    { ...before[1], queued_again: 1 },
  ]);
});

/** Sends all rows of a.test from `from` to `to`, as its owner. */
function stream(from: ReturnType<typeof fixture>, name: string, to: ReturnType<typeof fixture>) {
  const mark = to.store.markOf('a.test', name);
  const { events, to: upTo } = from.store.rowEvents('a.test', mark, 100, 0);
  const about = { version: from.store.counter(), backoffMs: 0, delayMs: 0 };
  const item = { host: 'a.test', from: mark, to: upTo, events, ...about };
  to.turn(() => to.store.applyRows(name, item, true, 0));
}

test('views: a requeued page that is skipped keeps its last answer, on copies too', () => {
  const [f, copy, late] = [fixture(), fixture(), fixture()];
  const url = 'http://a.test/1';
  const answers = 'SELECT digest, attempts, round, queued_again, skipped FROM pages';
  f.insert(url);
  f.finish(url, { digest: 'one', attempts: 2, etag: '"e"' });
  f.turn(() => f.store.settle('a.test', url));
  f.turn(() => f.store.beginRound(7));
  f.turn(() => f.store.requeueKnown('a.test', 100));
  stream(f, 'a1', copy);
  f.turn(() => f.store.skip(f.store.host('a.test').number, url, 'scope'));
  const last = { digest: 'one', attempts: 2, round: 0, queued_again: 0, skipped: 'scope' };
  const counts = 'SELECT pages_done, pages_queued FROM hosts';
  stream(f, 'a1', copy);
  stream(f, 'a1', late);
  for (const one of [f, copy, late]) {
    assert.deepEqual(one.rows(answers), [last]);
    assert.deepEqual(one.rows('SELECT reason, round FROM skipped'), [
      { reason: 'scope', round: 7 },
    ]);
    assert.deepEqual(one.rows(counts), [{ pages_done: 0, pages_queued: 0 }]);
  }
  // Rounds do not requeue the page. Reopening it, on a successor too, requires a full fetch and
  // restores the previous values.
  late.turn(() => late.store.beginRound(9));
  late.turn(() => late.store.requeueKnown('a.test', 100));
  assert.deepEqual(late.rows(answers), [last]);
  late.turn(() => late.store.reopenUrl('a.test', url));
  assert.deepEqual(late.rows(answers), [{ ...last, queued_again: 1, skipped: null }]);
  late.turn(() => {
    const { previous: former } = late.store.nextUrl(late.store.host('a.test').number, AT)!;
    assert.deepEqual([former?.digest, former?.etag], ['one', undefined]);
  });
  late.finish(url, { digest: 'two' });
  late.turn(() => late.store.settle('a.test', url));
  for (const one of [f, copy]) stream(late, 'a3', one);
  const anew = { digest: 'two', attempts: 1, round: 9, queued_again: 0, skipped: null };
  for (const one of [f, copy, late]) {
    assert.deepEqual(one.rows(answers), [anew]);
    assert.deepEqual(one.rows('SELECT * FROM skipped'), []);
    assert.equal(one.db.prepare('SELECT count(*) FROM former_pages').pluck().get(), 0);
  }
});

test('views: an answer that was not settled is shown, but not used to revalidate the page', () => {
  const f = fixture();
  f.insert('http://a.test/');
  f.finish('http://a.test/', { digest: 'one', etag: '"e"', lastModified: 'then' });
  f.turn(() => f.store.beginRound(7));
  f.turn(() => f.store.requeueKnown('a.test', 100));
  assert.equal(f.rows(LAST)[0]?.digest, 'one');
  f.turn(() => {
    const { previous: former } = f.store.nextUrl(f.store.host('a.test').number, AT)!;
    assert.equal(former?.digest, 'one');
    assert.equal(former.etag ?? former.lastModified, undefined);
  });
});

test('views: a copy has the last answer of a requeued page, and its round', () => {
  const [owner, copy] = [fixture(), fixture()];
  owner.insert('http://a.test/');
  owner.turn(() => owner.store.beginRound(7));
  owner.turn(() => owner.store.requeueKnown('a.test', 100));
  owner.finish('http://a.test/', { digest: 'one', attempts: 3 });
  owner.turn(() => owner.store.settle('a.test', 'http://a.test/'));
  owner.turn(() => owner.store.beginRound(8));
  owner.turn(() => owner.store.requeueKnown('a.test', 100));
  const { events, to } = owner.store.rowEvents('a.test', 0, 100, 0);
  const item = { host: 'a.test', from: 0, to, events, version: 1, backoffMs: 0, delayMs: 0 };
  copy.turn(() => copy.store.applyRows('a1', item, true, 0));
  assert.deepEqual(copy.rows(LAST), owner.rows(LAST));
  assert.deepEqual(copy.rows(LAST), [
    {
      ...{ url: 'http://a.test/', status: 200, digest: 'one' },
      ...{ attempts: 3, round: 7, queued_again: 1 },
    },
  ]);
});

/** The SQLite of the system is often older than the one of the agents. */
const READ_ALL = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for view, in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
    print(view, len(db.execute('SELECT * FROM ' + view).fetchall()))
`;
const withoutPython =
  spawnSync('python3', ['-c', 'import sqlite3']).status === 0 ? false : 'there is no python3';

test('an older SQLite reads all views', { skip: withoutPython }, (t) => {
  const { db, insert } = fixture();
  insert('http://a.test/');
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-views-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  const file = path.join(directory, 'state.sqlite');
  db.prepare('VACUUM INTO ?').run(file);
  const { stdout, stderr } = spawnSync('python3', ['-c', READ_ALL, file], { encoding: 'utf8' });
  assert.equal(stderr, '');
  assert.match(stdout, /^frontier 1$/m);
  assert.match(stdout, /^hosts 1$/m);
});
