// Tests on virtual time how visits handle failing servers and pages.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EPOCH, OneAgent, type Options } from '../one-agent.ts';

const found = { status: 200 };
const page = (n: number, host = 'a.test') => `http://${host}/${n}`;
const HOUR_MS = 3600_000;

test('trouble: a single failing page does not hold its host', () => {
  const web: Options['web'] = ({ url }) => (url === page(1) ? { status: 500 } : found);
  const agent = new OneAgent({ web });
  agent.find(page(1), page(2), page(3));
  agent.run();
  assert.deepEqual(
    [page(2), page(3)].flatMap((url) => agent.timesOf(url)),
    [1010, 2020],
  );
  assert.deepEqual(agent.timesOf(page(1)), [0, 10_010, 70_020, 370_030]);
  assert.deepEqual(agent.pages(), { [page(1)]: 500, [page(2)]: 200, [page(3)]: 200 });
  agent.checkAccounts();
});

test('trouble: a broken exchange is retried three times and then fails', () => {
  const agent = new OneAgent({ web: () => ({ fails: 'exchange', code: 'reset' }) });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.timesOf(page(1)), [0, 10_010, 70_020, 370_030]);
  assert.deepEqual(agent.pages(), { [page(1)]: 'reset' });
  const attempts = agent.db.prepare('SELECT attempts FROM pages').pluck().get();
  assert.equal(attempts, 4);
});

test('trouble: a new URL of a host whose other URLs wait is requested at once', () => {
  const web: Options['web'] = ({ url }) => (url === page(1) ? { status: 500 } : found);
  const agent = new OneAgent({ web });
  agent.find(page(1));
  agent.run(100_000);
  agent.find(page(2));
  agent.run();
  assert.deepEqual(agent.timesOf(page(2)), [100_000]);
});

test('trouble: a busy host waits as a whole, and its thread serves other hosts', () => {
  let busy = 1;
  const web: Options['web'] = ({ host }) =>
    host === 'a.test' && busy-- > 0 ? { status: 429, retryAfterMs: 30_000 } : found;
  const agent = new OneAgent({ web, threads: 1 });
  agent.find(page(1), page(2), page(1, 'b.test'), page(2, 'b.test'));
  agent.run();
  assert.deepEqual(agent.timesOf(page(1)), [0, 30_010]);
  assert.deepEqual(agent.timesOf(page(2)), [31_020]);
  assert.deepEqual(agent.timesOf(page(2, 'b.test')), [1020]);
});

test('trouble: a waiting host does not keep its thread from others', () => {
  let busy = 1;
  const web: Options['web'] = ({ host }) =>
    host === 'a.test' && busy-- > 0 ? { status: 503, retryAfterMs: 1500 } : found;
  const agent = new OneAgent({ web, threads: 1 });
  agent.find(page(1), page(1, 'b.test'));
  agent.run();
  assert.deepEqual(agent.timesOf(page(1)), [0, 1510]);
  assert.deepEqual(agent.timesOf(page(1, 'b.test')), [10]);
});

test('trouble: without Retry-After a host waits 60 s, which doubles until it answers', () => {
  let busy = 3;
  const agent = new OneAgent({ web: () => (busy-- > 0 ? { status: 503 } : found) });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.timesOf(page(1)), [0, 60_010, 181_020, 422_030]);
  const row = agent.db.prepare('SELECT busy, busy_since FROM host_rows').get();
  assert.deepEqual(row, { busy: 3, busy_since: null }, 'the steps stay until they are reset');
});

test('trouble: a host that is always busy is abandoned after about two hours', () => {
  const agent = new OneAgent({ web: () => ({ status: 503 }) });
  for (let n = 0; n < 1500; n++) agent.find(page(n));
  const tookMs = agent.run();
  assert.ok(tookMs > 2 * HOUR_MS && tookMs < 3 * HOUR_MS, `${tookMs / HOUR_MS} hours`);
  assert.equal(agent.asked().length, 8);
  const { [page(0)]: first, ...others } = agent.pages();
  assert.equal(first, 503);
  assert.deepEqual(new Set(Object.values(others)), new Set(['host_busy']));
  assert.equal(Object.keys(others).length, 1499);
  agent.checkAccounts();
});

for (const [retryAfterMs, outageMs] of [
  [0, 20_000],
  [1000, 12_000],
  [1000, 600_000],
  [5000, 20_000],
] as const) {
  test(`trouble: an outage of ${outageMs} ms with Retry-After of ${retryAfterMs} ms loses no page`, () => {
    const web: Options['web'] = (_, at) =>
      at < EPOCH + outageMs ? { status: 503, retryAfterMs } : found;
    const agent = new OneAgent({ web });
    for (let n = 0; n < 50; n++) agent.find(page(n));
    const tookMs = agent.run();
    assert.deepEqual(new Set(Object.values(agent.pages())), new Set([200]));
    // At most twice the outage, plus the time for the pages.
    assert.ok(tookMs < 2 * outageMs + 60_000, `${tookMs} ms`);
    agent.checkPoliteness();
  });
}

test('trouble: a page that keeps naming a short wait is final after minutes, and only this page', () => {
  const web: Options['web'] = ({ url }) =>
    url === page(0) ? { status: 503, retryAfterMs: 0 } : found;
  const agent = new OneAgent({ web });
  for (let n = 0; n < 50; n++) agent.find(page(n));
  const tookMs = agent.run();
  assert.ok(tookMs > 8 * 60_000 && tookMs < 20 * 60_000, `${tookMs} ms`);
  const { [page(0)]: first, ...others } = agent.pages();
  assert.equal(first, 503);
  assert.deepEqual(new Set(Object.values(others)), new Set([200]));
  assert.ok(agent.asked().length < 65);
});

test('trouble: a page that stays busy without naming a wait does not hold the others', () => {
  const web: Options['web'] = ({ url }) => (url === page(0) ? { status: 503 } : found);
  const agent = new OneAgent({ web });
  for (let n = 0; n < 50; n++) agent.find(page(n));
  agent.run();
  const statuses = Object.values(agent.pages());
  assert.equal(statuses.filter((status) => status === 200).length, 49);
});

test('trouble: a host that keeps naming a short wait is abandoned in hours, not days', () => {
  const agent = new OneAgent({ web: () => ({ status: 429, retryAfterMs: 1000 }) });
  for (let n = 0; n < 1500; n++) agent.find(page(n));
  const tookMs = agent.run();
  assert.ok(tookMs > 2 * HOUR_MS && tookMs < 4 * HOUR_MS, `${tookMs / HOUR_MS} hours`);
  assert.ok(agent.asked().length < 20);
  assert.ok(Object.values(agent.pages()).filter((error) => error === 'host_busy').length > 1480);
  agent.checkAccounts();
});

test('trouble: one answer with Retry-After of 1 s delays a page by one second', () => {
  const asked = new Set<string>();
  const web: Options['web'] = ({ url }) => {
    if (asked.has(url)) return found;
    asked.add(url);
    return { status: 503, retryAfterMs: 1000 };
  };
  const agent = new OneAgent({ web, hostDelayMs: 10 });
  for (let n = 0; n < 20; n++) agent.find(page(n));
  assert.ok(agent.run() < 20 * 1100, `${agent.now - EPOCH} ms`);
  assert.deepEqual(new Set(Object.values(agent.pages())), new Set([200]));
});

test('trouble: Retry-After holds the host, whatever the status of the response', () => {
  for (const status of [301, 403, 413, 500, 502, 504]) {
    let asked = 0;
    const agent = new OneAgent({
      web: () => (asked++ === 0 ? { status, retryAfterMs: 20_000 } : found),
    });
    agent.find(page(1), page(2));
    agent.run(10_000);
    assert.equal(agent.waits.get('a.test'), EPOCH + 10 + 20_000, 'reported to the next owner');
    agent.run();
    assert.equal(agent.log[1]!.start - EPOCH, 20_010, `after ${status}`);
  }
});

test('trouble: failures of a restarting server, busy and then refusing, are not final', () => {
  let n = 0;
  const web: Options['web'] = () => {
    n++;
    if (n <= 5) return { status: 503, retryAfterMs: 0 };
    return n <= 7 ? { fails: 'connection', code: 'connect_refused' } : found;
  };
  const agent = new OneAgent({ web });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
});

test('trouble: 408, 421 and 425 are retried', () => {
  for (const status of [408, 421, 425]) {
    let left = 3;
    const agent = new OneAgent({ web: () => (left-- > 0 ? { status } : found) });
    agent.find(page(1));
    agent.run();
    assert.deepEqual(agent.timesOf(page(1)), [0, 1010, 11_020, 71_030], `after ${status}`);
    assert.deepEqual(agent.pages(), { [page(1)]: 200 });
  }
});

const silent = { fails: 'no-answer', code: 'response_timeout', tookMs: 10_000 } as const;

test('trouble: a host that never answers is abandoned within minutes, however long its queue', () => {
  const agent = new OneAgent({ web: () => silent });
  for (let n = 0; n < 10_000; n++) agent.find(page(n));
  const tookMs = agent.run();
  assert.ok(tookMs > 6 * 60_000 && tookMs < 15 * 60_000, `${tookMs / 60_000} minutes`);
  assert.ok(agent.asked().length <= 12, `${agent.asked().length} requests`);
  const errors = Object.values(agent.pages());
  assert.equal(errors.length, 10_000);
  assert.equal(errors.filter((error) => error === 'host_silent').length, 9999);
  agent.checkAccounts();
});

for (const [kind, down] of [
  ['silent', silent],
  ['refusing', { fails: 'connection', code: 'connect_refused' }],
] as const) {
  test(`trouble: a host that is ${kind} for five minutes loses no page`, () => {
    const agent = new OneAgent({ web: (_, at) => (at < EPOCH + 300_000 ? down : found) });
    for (let n = 0; n < 100; n++) agent.find(page(n));
    agent.run();
    assert.deepEqual(new Set(Object.values(agent.pages())), new Set([200]));
    agent.checkAccounts();
  });
}

test('trouble: a host without answers is tested with the end of its queue, which may answer', () => {
  const web: Options['web'] = ({ url }) => (url.includes('/slow') ? silent : found);
  const agent = new OneAgent({ web });
  for (let n = 0; n < 40; n++) agent.find(`${page(n)}/slow`);
  for (let n = 0; n < 20; n++) agent.find(page(1000 + n));
  agent.run();
  const statuses = Object.values(agent.pages());
  assert.equal(statuses.filter((status) => status === 200).length, 20);
  assert.equal(statuses.filter((error) => error === 'response_timeout').length > 0, true);
});

test('trouble: slow pages among others do not hold their host', () => {
  const web: Options['web'] = ({ url }) => (url.endsWith('7') ? silent : found);
  const agent = new OneAgent({ web });
  for (let n = 0; n < 200; n++) agent.find(page(n));
  agent.run();
  const statuses = Object.values(agent.pages());
  assert.equal(statuses.filter((status) => status === 200).length, 180);
});

test('trouble: the count of unanswered requests survives a restart', () => {
  const first = new OneAgent({ web: () => silent });
  for (let n = 0; n < 100; n++) first.find(page(n));
  first.run(120_000);
  const second = new OneAgent({ web: () => silent, db: first.db, now: first.now });
  second.run();
  assert.ok(first.asked().length + second.asked().length <= 13);
  assert.equal(Object.keys(second.pages()).length, 100);
});

test('trouble: an unreachable host waits as a whole, then its origin fails', () => {
  const web: Options['web'] = ({ url }) =>
    url.startsWith('http://a.test:81/') ? found : { fails: 'connection', code: 'connect_refused' };
  const agent = new OneAgent({ web });
  for (let n = 0; n < 1200; n++) agent.find(page(n));
  agent.find('http://a.test:81/x');
  agent.run();
  assert.deepEqual(agent.timesOf(page(0)), [0, 10_010, 70_020, 370_030]);
  assert.equal(agent.asked().length, 5);
  const pages = agent.pages();
  assert.equal(pages['http://a.test:81/x'], 200);
  assert.equal(Object.values(pages).filter((error) => error === 'connect_refused').length, 1200);
  agent.checkAccounts();
  agent.checkPoliteness();
});

test('trouble: URLs that wait for their own retry fail with their origin', () => {
  let up = true;
  const web: Options['web'] = () => {
    const answer = up ? { status: 500 } : ({ fails: 'connection', code: 'dns' } as const);
    return answer;
  };
  const agent = new OneAgent({ web });
  agent.find(page(1), page(2), page(3));
  agent.run(71_000);
  up = false;
  agent.run();
  const errors = Object.values(agent.pages());
  assert.equal(errors.length, 3);
  assert.ok(errors.includes('dns'));
  assert.equal(agent.store.owned().queued, 0);
  agent.checkAccounts();
});

test('trouble: one failed connection as the last attempt of a URL fails no other URL', () => {
  const tries = new Map<string, number>();
  const web: Options['web'] = ({ url }) => {
    const n = (tries.get(url) ?? 0) + 1;
    tries.set(url, n);
    if (url !== page(1)) return found;
    return n < 4 ? { fails: 'exchange' } : { fails: 'connection', code: 'dns' };
  };
  const agent = new OneAgent({ web });
  agent.find(page(1));
  agent.run(369_000);
  for (let n = 2; n < 8; n++) agent.find(page(n));
  agent.run();
  assert.equal(agent.pages()[page(1)], 'dns');
  assert.equal(Object.values(agent.pages()).filter((status) => status === 200).length, 6);
});

test('trouble: a connection that breaks later resets the count of failed connections', () => {
  const causes = ['connection', 'connection', 'exchange'] as const;
  let n = 0;
  const agent = new OneAgent({ web: () => ({ fails: causes[n++ % 3]! }) });
  agent.find(page(1), page(2), page(3), page(4));
  agent.run();
  assert.equal(agent.asked().length, 16, 'each page has its four attempts');
});

test('trouble: a successful robots.txt resets the count of failed connections', () => {
  const web: Options['web'] = ({ kind, url }) => {
    if (kind === 'robots') return { robots: '' };
    return url.includes(':81') ? found : { fails: 'connection' };
  };
  const agent = new OneAgent({ web, robots: true });
  agent.find([page(1), 1]);
  agent.run(50_000);
  assert.equal(agent.store.host('a.test').unconnected, 2);
  agent.find('http://a.test:81/2');
  agent.run(21_500);
  assert.equal(agent.store.host('a.test').unconnected, 0);
});

test('trouble: many URLs that end together do not delay other hosts', () => {
  const agent = new OneAgent({ web: () => found, pagesPerHost: 1 });
  for (let n = 0; n < 3000; n++) agent.find(page(n));
  agent.run();
  assert.equal(Object.keys(agent.skipped()).length, 2999);
  assert.ok(agent.turns >= 7, `${agent.turns} turns`);
});

test('trouble: an abandoned origin fails no more pages than the limit of the host', () => {
  const agent = new OneAgent({ web: () => ({ fails: 'connection' }), pagesPerHost: 700 });
  for (let n = 0; n < 1500; n++) agent.find(page(n));
  agent.run();
  assert.equal(Object.keys(agent.pages()).length, 700);
  assert.equal(Object.keys(agent.skipped()).length, 800);
  agent.checkAccounts();
});

test('trouble: a URL at a forbidden address is skipped as blocked', () => {
  const web: Options['web'] = ({ url }) =>
    url === page(1) ? { fails: 'forbidden-address' } : found;
  const agent = new OneAgent({ web });
  agent.find(page(1), page(2));
  agent.run();
  assert.deepEqual(agent.skipped(), { [page(1)]: 'blocked' });
  assert.deepEqual(agent.pages(), { [page(2)]: 200 });
  agent.checkAccounts();
});

test('trouble: a withdrawn request costs no attempt, and the delay follows it', () => {
  let aborts = 9;
  const web: Options['web'] = () => (aborts-- > 0 ? { fails: 'withdrawn', tookMs: 40 } : found);
  const agent = new OneAgent({ web });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
  assert.equal(agent.db.prepare('SELECT attempts FROM pages').pluck().get(), 1);
  assert.equal(agent.asked().length, 10);
  agent.checkPoliteness();
});

test('trouble: the next owner of a host receives its back-off', () => {
  const agent = new OneAgent({ web: () => ({ status: 503, retryAfterMs: 90_000 }) });
  agent.find(page(1));
  agent.run(1000);
  assert.equal(agent.waits.get('a.test'), EPOCH + 10 + 90_000);
});

test('restart: waits, attempts and failure counts are kept', () => {
  const web: Options['web'] = ({ host }) => (host === 'a.test' ? { status: 503 } : { status: 500 });
  const first = new OneAgent({ web });
  first.find(page(1), page(2), page(1, 'b.test'));
  first.run(70_000);
  const { db, now } = first;
  first.store.begin();
  first.store.commit(true);
  const second = new OneAgent({ web, db, now });
  second.turn();
  assert.equal(second.waits.get('a.test'), EPOCH + 60_020 + 120_000, 'reported to the fetch right');
  second.run(400_000);
  assert.deepEqual(second.timesOf(page(1)), [420_030]);
  assert.deepEqual(second.timesOf(page(2)), [180_020]);
  assert.deepEqual(second.timesOf(page(1, 'b.test')), [70_020, 370_030]);
  assert.deepEqual(
    second.log.filter(({ request }) => request.host === 'b.test').map((a) => a.request.attempts),
    [2, 3],
  );
  second.checkAccounts();
});

test('trouble: waits stored with a clock a year ahead end when the clock is corrected', () => {
  const busy: Options['web'] = ({ kind, host, url }) => {
    if (kind === 'robots' && host === 'r.test') return { noRobots: { error: 'reset' } };
    if (host === 'b.test') return { status: 503 };
    return url === page(1) ? { status: 500 } : found;
  };
  const before = new OneAgent({ web: busy, robots: true, now: EPOCH + 365 * 24 * HOUR_MS });
  before.find(page(1), page(1, 'b.test'), page(1, 'r.test'), page(1, 'c.test'));
  before.run(5000);
  assert.equal(before.store.owned().queued, 3);
  const after = new OneAgent({ web: () => found, robots: true, db: before.db, now: EPOCH });
  after.find(page(2), page(2, 'c.test'));
  assert.ok(after.run() < 60_000);
  assert.equal(after.store.owned().queued, 0);
  // A robots.txt that was stored with a future time is not valid today.
  assert.ok(after.asked('any').includes('http://c.test/robots.txt'));
  after.checkPoliteness();
  after.checkAccounts();
});

test('trouble: the longest wait that a server may request is kept after a restart', () => {
  const day: Options['web'] = () => ({ status: 503, retryAfterMs: 24 * HOUR_MS });
  const before = new OneAgent({ web: day });
  before.find(page(1));
  before.run(5000);
  const now = EPOCH + 5000;
  const after = new OneAgent({ web: () => found, db: before.db, now });
  after.run();
  assert.equal(after.log[0]!.start, EPOCH + 10 + 24 * HOUR_MS);
});
