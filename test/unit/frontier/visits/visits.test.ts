import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { type Answer, OneAgent, type Options } from '../one-agent.ts';
import { agentWith, found, page } from './visits-stage.ts';

test('visits: a host is crawled breadth first, then in the order of discovery', () => {
  const links: Record<string, string[]> = {
    '/0': ['/1', '/2'],
    '/1': ['/11', '/12'],
    '/2': ['/21', '/1', '/0'],
    '/11': ['/111'],
  };
  const web: Options['web'] = ({ url }) => {
    const here = links[new URL(url).pathname] ?? [];
    return { status: 200, links: here.map((path) => `http://a.test${path}`) };
  };
  const agent = agentWith({ web });
  agent.find('http://a.test/0');
  agent.run();
  const paths = agent.asked().map((url) => new URL(url).pathname);
  assert.deepEqual(paths, ['/0', '/1', '/2', '/11', '/12', '/21', '/111']);
  agent.checkPoliteness();
  agent.checkAccounts();
});

test('visits: hosts are visited in the order of discovery as threads become free', () => {
  const agent = agentWith({ threads: 2 });
  for (const host of ['c', 'a', 'd', 'b']) agent.find(page(1, host), page(2, host));
  agent.run();
  const firsts = agent.log.filter(({ request }) => request.url.endsWith('/1'));
  assert.deepEqual(
    firsts.map(({ request }) => request.host),
    ['c', 'a', 'd', 'b'],
  );
  assert.equal(firsts[0]!.start, firsts[1]!.start);
  assert.equal(firsts[2]!.start, firsts[1]!.end);
});

test('visits: each host uses one thread at most, and no more threads are used than configured', () => {
  const agent = agentWith({ threads: 3, web: () => ({ status: 200, tookMs: 70 }) });
  for (let n = 0; n < 40; n++) agent.find(page(n, `h${n % 8}.test`));
  agent.run();
  for (const { start } of agent.log) {
    const open = agent.log.filter((other) => other.start <= start && start < other.end);
    assert.ok(open.length <= 3);
    assert.equal(new Set(open.map(({ request }) => request.host)).size, open.length);
  }
  assert.equal(agent.asked().length, 40);
});

test('visits: a directive changes the number of threads while requests are open', () => {
  const web = () => ({ status: 200, tookMs: 20 });
  const agent = agentWith({ threads: 1, hostDelayMs: 0, web });
  for (let n = 0; n < 200; n++) agent.find(page(n, `h${n % 20}.test`));
  const mostOpen = (ms: number) => {
    // Requests that are open at first hold their threads until they end.
    agent.run(100);
    const since = agent.now;
    agent.run(ms);
    const starts = agent.log.map(({ start }) => start).filter((at) => at > since);
    const openAt = (at: number) => agent.log.filter(({ start, end }) => start <= at && at < end);
    return Math.max(...starts.map((at) => openAt(at).length));
  };
  const most = [null, 5, 2, null].map((threads) => {
    agent.orders.threads = threads;
    return mostOpen(300);
  });
  assert.deepEqual(most, [1, 5, 2, 1]);
});

test('visits: the delay runs from the end of one request to the start of the next', () => {
  const agent = agentWith({ hostDelayMs: 1000, web: () => ({ status: 200, tookMs: 700 }) });
  agent.find(page(1), page(2), page(3));
  agent.run();
  assert.deepEqual(
    [1, 2, 3].flatMap((n) => agent.timesOf(page(n))),
    [0, 1700, 3400],
  );
});

test('visits: a thread leaves a host with an empty queue at once, without waiting for its delay', () => {
  const agent = agentWith({ threads: 1, hostDelayMs: 60_000 });
  for (let n = 0; n < 20; n++) agent.find(page(1, `h${n}.test`));
  assert.ok(agent.run() < 1000);
});

test('visits: the delay applies when a host that was left gets another URL', () => {
  const agent = agentWith();
  agent.find(page(1));
  agent.run();
  agent.find(page(2));
  agent.run();
  agent.checkPoliteness();
  assert.deepEqual(agent.timesOf(page(2)), [1010]);
});

test('visits: no host is checked while no host has the fetch right', () => {
  const agent = agentWith();
  agent.isShut = true;
  for (let n = 0; n < 500; n++) agent.find(page(1, `h${n}.test`));
  agent.run();
  assert.equal(agent.turns, 1, 'nothing is due');
  assert.equal(agent.checks, 0, 'no right was checked');
  agent.isShut = false;
  agent.visits.wakeAll();
  agent.run();
  assert.equal(agent.asked().length, 500);
});

test('visits: pages follow immediately if the delay is 0', () => {
  const agent = agentWith({ hostDelayMs: 0 });
  for (let n = 0; n < 20; n++) agent.find(page(n));
  assert.equal(agent.run(), 200);
});

test('visits: URLs beyond the page limit are skipped, not left queued', () => {
  const agent = agentWith({ pagesPerHost: 3 });
  for (let n = 0; n < 1200; n++) agent.find(page(n));
  agent.find(page(1, 'b.test'));
  agent.run();
  assert.equal(agent.asked().length, 4);
  assert.equal(Object.keys(agent.pages()).length, 4);
  assert.equal(Object.values(agent.skipped()).filter((why) => why === 'pages').length, 1197);
  assert.equal(agent.store.owned().queued, 0);
  agent.checkAccounts();
});

test('visits: a URL found after the page limit was reached is skipped', () => {
  const agent = agentWith({ pagesPerHost: 1 });
  agent.find(page(1));
  agent.run();
  agent.find(page(2));
  agent.run();
  assert.deepEqual(agent.skipped(), { [page(2)]: 'pages' });
});

test('visits: retries and skips do not count against the page limit', () => {
  let busy = 2;
  const web: Options['web'] = () => (busy-- > 0 ? { status: 503, retryAfterMs: 5000 } : found);
  const agent = agentWith({ pagesPerHost: 2, web });
  agent.find(page(1), page(2), page(3));
  agent.run();
  assert.equal(agent.asked().length, 4);
  assert.deepEqual(agent.pages(), { [page(1)]: 200, [page(2)]: 200 });
});

test("visits: depth is the finder's + 1 on its host, 0 on another; a redirect keeps it", () => {
  const web: Options['web'] = ({ url }) => {
    if (url === page(0)) return { status: 200, links: [page(1), page(1, 'b.test')] };
    if (url === page(1)) return { status: 301, redirectTo: page(2) };
    if (url === page(1, 'b.test')) return { status: 302, redirectTo: page(3) };
    return { status: 200, links: [page(9)] };
  };
  const agent = agentWith({ web });
  agent.find(page(0));
  agent.run();
  const rows = agent.db.prepare('SELECT url, depth FROM pages ORDER BY url').raw().all();
  assert.deepEqual(Object.fromEntries(rows as [string, number][]), {
    [page(0)]: 0,
    [page(1)]: 1,
    [page(2)]: 1,
    [page(3)]: 0,
    [page(9)]: 1,
    [page(1, 'b.test')]: 0,
  });
});

test('visits: a host without a fetch right waits blocked, without a thread, until it is woken', () => {
  const agent = agentWith({ threads: 1 });
  agent.rights.set('a.test', 'blocked');
  agent.rights.set('c.test', 'blocked');
  agent.find(page(1), page(1, 'b.test'), page(1, 'c.test'));
  agent.run();
  assert.deepEqual(agent.asked(), [page(1, 'b.test')]);
  assert.equal(agent.visits.nextAtMs(), Infinity);
  agent.rights.clear();
  agent.visits.wake('c.test');
  agent.run();
  assert.deepEqual(agent.asked().slice(1), [page(1, 'c.test')]);
  agent.visits.wakeAll();
  agent.run();
  assert.deepEqual(agent.asked().slice(2), [page(1)]);
});

test('visits: a host that moved to another agent and returned with its queue is visited', () => {
  const agent = agentWith();
  agent.find(page(1), page(2));
  agent.rights.set('a.test', 'foreign');
  agent.run();
  assert.equal(agent.asked().length, 0);
  agent.rights.clear();
  agent.visits.schedule('a.test');
  agent.run();
  assert.equal(agent.asked().length, 2);
});

test('visits: a host that moved to another agent is forgotten', () => {
  const agent = agentWith();
  agent.find(page(1));
  agent.rights.set('a.test', 'foreign');
  agent.run();
  agent.rights.clear();
  agent.visits.wakeAll();
  agent.run();
  assert.equal(agent.asked().length, 0);
  assert.equal(agent.visits.nextAtMs(), Infinity);
});

test('visits: a missing lease is rechecked several times per heartbeat, keeping the thread', () => {
  const agent = agentWith();
  agent.rights.set('a.test', 'no-lease');
  agent.find(page(1));
  agent.run(10_000);
  assert.equal(agent.asked().length, 0);
  assert.ok(agent.turns <= 50, `${agent.turns} turns`);
  agent.rights.clear();
  agent.run();
  assert.ok(agent.timesOf(page(1))[0]! <= 10_250);
});

test('visits: nothing new is requested while the outbox is full, and the loop does not spin', () => {
  const agent = agentWith({ threads: 2 });
  agent.holdBack = true;
  for (let n = 0; n < 6; n++) agent.find(page(1, `h${n}.test`));
  agent.run(10_000);
  assert.equal(agent.asked().length, 0);
  assert.ok(agent.turns <= 100, `${agent.turns} turns`);
  agent.holdBack = false;
  agent.run();
  assert.equal(agent.asked().length, 6);
});

test('visits: a held host gets no requests and does not delay other hosts', () => {
  const agent = agentWith({ threads: 2 });
  for (let n = 0; n < 40; n++) {
    agent.held.add(`h${n}.test`);
    agent.find(page(1, `h${n}.test`));
  }
  agent.find(page(1, 'calm.test'), page(2, 'calm.test'));
  agent.run(10_000);
  assert.deepEqual(agent.asked(), [page(1, 'calm.test'), page(2, 'calm.test')]);
  assert.ok(agent.turns <= 200, `${agent.turns} turns`);
  agent.held.clear();
  agent.run();
  assert.equal(agent.asked().length, 42);
});

test('visits: ready hosts without a thread cause no busy loop', () => {
  const agent = agentWith({ threads: 1, web: () => ({ status: 200, tookMs: 60_000 }) });
  for (let n = 0; n < 5; n++) agent.find(page(1, `h${n}.test`));
  agent.run(59_000);
  // One turn for each request that frees its thread.
  assert.ok(agent.turns <= 6, `${agent.turns} turns`);
});

test('visits: an outcome without an open request changes nothing', () => {
  const agent = agentWith();
  agent.find(page(1), page(2));
  agent.run();
  const { request, end } = agent.log[0]!;
  const late = { kind: 'failure', request, code: 'x', message: 'x', cause: 'connection' } as const;
  const before = agent.pages();
  const ended = { ...late, endedAt: end + 1, durationMs: 1, ip: null };
  const finished = agent.visits.finish(ended, agent.instant());
  assert.deepEqual(finished, { page: null });
  assert.deepEqual(agent.pages(), before);
  assert.equal(agent.visits.nextAtMs(), Infinity);
  agent.checkAccounts();
});

test('visits: open requests are reported while they are open', () => {
  const agent = agentWith();
  agent.find(page(1), page(2));
  agent.turn();
  assert.equal(agent.visits.isOpen('a.test'), true);
  assert.deepEqual(
    [...agent.visits.open()].map(({ host }) => host),
    ['a.test'],
  );
  assert.equal(agent.visits.openCount(), 1);
  agent.run(500);
  assert.equal(agent.visits.isOpen('a.test'), false);
  assert.equal(agent.visits.openCount(), 0);
});

test('visits: the links of a page are stored if configured, and replaced by later ones', () => {
  const odd = 'http://a.test/?back\\slash&quote=%22';
  const links: Record<string, string[]> = { [page(0)]: [page(1), odd, page(0)], [page(1)]: [] };
  const web: Options['web'] = ({ url }) => ({ status: 200, links: links[url] ?? [] });
  const kept = (agent: OneAgent) =>
    agent.db.prepare('SELECT source, target FROM links').raw().all();
  const agent = new OneAgent({ web, keepLinks: true });
  agent.find(page(0));
  agent.run();
  const rows = [page(1), odd, page(0)].map((target) => [page(0), target]);
  assert.deepEqual(kept(agent), rows);
  agent.store.begin();
  agent.store.saveLinks(page(0), [page(7)]);
  agent.store.commit(false);
  assert.deepEqual(kept(agent), [[page(0), page(7)]]);
  const other = new OneAgent({ web });
  other.find(page(0));
  other.run();
  assert.deepEqual(kept(other), []);
});

test('visits: a host that was handed over and returned is not confused with one that reuses its number', () => {
  const agent = agentWith({ hostDelayMs: 60_000 });
  agent.find(page(1), page(2));
  agent.run(100);
  agent.visits.dropped('a.test', agent.instant());
  agent.store.begin();
  agent.store.deleteHost('a.test');
  // No other host gets its number until its rows are deleted.
  while (agent.store.deleteSome(9));
  agent.store.commit(false);
  agent.find(page(1, 'b.test'), page(2, 'b.test'), page(2));
  agent.run();
  const wrong = agent.log.filter(({ request: { url, host } }) => new URL(url).hostname !== host);
  assert.deepEqual(wrong, []);
  assert.equal(agent.asked().length, 4);
  agent.checkAccounts();
});

test('visits: a host with a queue keeps its delay while thousands of others are waiting', () => {
  const calm = Array.from({ length: 20 }, (_, n) => page(n, 'calm.test'));
  const web: Options['web'] = ({ host }) => {
    const tookMs = host === 'calm.test' ? 10 : 700;
    return { status: 200, tookMs };
  };
  const agent = agentWith({ web, threads: 16, hostDelayMs: 1000 });
  agent.find(page(1, 'first.test'), ...calm);
  agent.find(...Array.from({ length: 5000 }, (_, n) => page(1, `h${n}.test`)));
  agent.run();
  const times = calm.flatMap((url) => agent.timesOf(url)).sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  assert.ok(Math.max(...gaps) <= 1010 + 750, `${Math.max(...gaps)} ms`);
});

test('visits: links out of scope are counted only when a page is first read, not in later rounds', () => {
  const db = openInMemory();
  const crawled = (web: (url: string) => Answer) => {
    const agent = agentWith({ db, web: ({ url }) => web(url) });
    agent.find(page(1), page(2), page(3));
    agent.run();
    const { store } = agent;
    store.begin();
    store.beginRound(store.round() + 1);
    store.requeueKnown('a.test', 10);
    store.commit(false);
    return db.prepare('SELECT out_of_scope FROM hosts').pluck().get();
  };
  const answers: Record<string, Answer> = {
    [page(1)]: { status: 200, outOfScope: 10 },
    [page(2)]: { status: 301, redirectTo: 'http://b.test/', outOfScope: 1 },
  };
  const late: Answer = { status: 200, outOfScope: 100 };
  assert.equal(
    crawled((url) => answers[url] ?? { status: 404 }),
    11,
  );
  assert.equal(
    crawled((url) => answers[url] ?? late),
    111,
    'the third page was not read before',
  );
  assert.equal(
    crawled((url) => answers[url] ?? late),
    111,
  );
});
