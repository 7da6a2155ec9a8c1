// Tests the delay between two requests to a host, the back-off of busy hosts, and the detection of
// traps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demandedDelay, ownDelay } from '../../../../agent/frontier/host-delay.ts';
import { Novelty, STALE_PER_STEP, slowDownOf } from '../../../../agent/frontier/outcome/novelty.ts';
import { EPOCH, OneAgent, type Options } from '../one-agent.ts';

const page = (n: number) => `http://a.test/${n}`;
const ROBOTS = 'http://a.test/robots.txt';

function robotsAnd(text: string, tookMs = 10): Options['web'] {
  return ({ kind }) => (kind === 'robots' ? { robots: text } : { status: 200, tookMs });
}

test('delay: the config uses the most specific pattern that matches the host', () => {
  const own = ownDelay({
    hostDelayMs: 1000,
    hosts: {
      'a.test': { hostDelayMs: 1 },
      '*.test': { hostDelayMs: 2 },
      '*.b.test': { hostDelayMs: 3 },
    },
  });
  const hosts = ['a.test', 'b.test', 'c.b.test', 'd.c.b.test', 'test', 'other'];
  assert.deepEqual(hosts.map(own), [1, 2, 3, 3, 1000, 1000]);
  assert.equal(ownDelay({ hostDelayMs: 1, hosts: { '*': { hostDelayMs: 9 } } })('x'), 9);
});

test('delay: the longest of what the host demands applies, each limited by its cap', () => {
  const rules = { crawlDelayMaxMs: 30_000, responseTimeFactor: 2 };
  const of = (facts: object) =>
    demandedDelay(rules, { ownMs: 1000, crawlDelayMs: 0, durationMs: 0, slowDown: 0, ...facts });
  assert.equal(of({}), 0);
  assert.equal(of({ crawlDelayMs: 500 }), 500);
  assert.equal(of({ crawlDelayMs: 7000 }), 7000);
  assert.equal(of({ crawlDelayMs: 90_000 }), 30_000);
  assert.equal(of({ durationMs: 4000 }), 8000);
  assert.equal(of({ durationMs: 4000, crawlDelayMs: 9000 }), 9000);
  assert.equal(of({ durationMs: 100_000 }), 60_000);
  assert.equal(of({ slowDown: 3 }), 8000);
  assert.equal(of({ slowDown: 6 }), 60_000);
  assert.equal(of({ ownMs: 0, slowDown: 2 }), 40);
});

test('delay: a host waits until the end of its delay or back-off, not during a request', () => {
  const web: Options['web'] = ({ url }) =>
    url === page(1) ? { status: 200 } : { status: 503, retryAfterMs: 60_000 };
  const agent = new OneAgent({ web });
  const wait = () => agent.visits.waitOf('a.test');
  agent.find(page(1), page(2), page(3));
  agent.turn();
  assert.equal(wait(), undefined);
  agent.run(500);
  assert.deepEqual(wait(), { kind: 'time', untilMs: EPOCH + 1010, why: 'delay' });
  agent.run(1000);
  assert.deepEqual(wait(), { kind: 'time', untilMs: EPOCH + 61_020, why: 'delay' });
});

test('delay: Crawl-delay applies from the request for robots.txt on', () => {
  const agent = new OneAgent({ robots: true, web: robotsAnd('User-agent: *\nCrawl-delay: 5') });
  agent.find(page(1), page(2));
  agent.run();
  assert.deepEqual(
    [page(1), page(2)].flatMap((url) => agent.timesOf(url)),
    [5010, 10_020],
  );
});

/** An agent whose robots.txt demands a delay of 5 s, and the delays that its networks heard of. */
function ofNetworks() {
  const [asked, ended]: [number[], number[]] = [[], []];
  const networks = {
    mayVisit: (_: string, delayMs: number) => asked.push(delayMs) > 0,
    requestEnded: (_: string, _endedAt: number, delayMs: number) => void ended.push(delayMs),
  };
  const web = robotsAnd('User-agent: *\nCrawl-delay: 5');
  return { agent: new OneAgent({ robots: true, web, networks }), asked, ended };
}

test('delay: other networks learn the Crawl-delay, also after the request for robots.txt', () => {
  const { agent, asked, ended } = ofNetworks();
  agent.find(page(1));
  agent.run();
  assert.deepEqual(
    [asked, ended],
    [
      [1000, 5000],
      [5000, 5000],
    ],
  );
});

test('delay: other networks learn the Crawl-delay of a host that was given up during a request', () => {
  const { agent, ended } = ofNetworks();
  agent.find(page(1));
  agent.run(5015);
  assert.ok(agent.visits.isOpen('a.test'));
  agent.visits.dropped('a.test', agent.instant());
  agent.run();
  assert.deepEqual(ended, [5000, 5000]);
});

test('delay: Crawl-delay is limited to the cap', () => {
  const web = robotsAnd('User-agent: *\nCrawl-delay: 3600');
  const agent = new OneAgent({ robots: true, web });
  agent.find(page(1), page(2));
  agent.run();
  assert.deepEqual(
    [page(1), page(2)].flatMap((url) => agent.timesOf(url)),
    [30_010, 60_020],
  );
});

test('delay: Crawl-delay survives a restart and is reported to copies', () => {
  const web = robotsAnd('User-agent: *\nCrawl-delay: 20');
  const first = new OneAgent({ robots: true, web });
  first.find(page(1), page(2), page(3));
  first.run(21_000);
  assert.equal(first.store.delayOf('a.test'), 20_000);
  const again = new OneAgent({ robots: true, web, db: first.db, now: first.now });
  again.ends.set('a.test', first.ends.get('a.test')!);
  again.run();
  assert.deepEqual(
    [page(2), page(3)].flatMap((url) => again.timesOf(url)),
    [40_020, 60_030],
  );
});

test('delay: a slow server gets fewer requests if the config scales the delay with the response time', () => {
  const delays = { responseTimeFactor: 5 };
  const web: Options['web'] = () => ({ status: 200, tookMs: 1000 });
  const agent = new OneAgent({ delays, web });
  agent.find(page(1), page(2));
  agent.run();
  assert.deepEqual(agent.timesOf(page(2)), [6000]);
});

test('back-off: steps survive a success and a restart, and 30 quiet minutes reset them', () => {
  const MINUTE = 60_000;
  const busyAt = new Set([1, 3, 5]);
  let asked = 0;
  const web: Options['web'] = () => ({ status: busyAt.has(++asked) ? 429 : 200 });
  const first = new OneAgent({ web });
  first.find(page(1));
  first.run();
  first.find(page(2));
  first.run(1500);
  const db = first.db;
  const second = new OneAgent({ web, db, now: first.now });
  second.run();
  assert.deepEqual(second.timesOf(page(2)).length, 1);
  const waited = second.timesOf(page(2))[0]! - first.timesOf(page(2))[0]!;
  assert.equal(waited, 2 * MINUTE + 10, 'the second step');
  second.now += 31 * MINUTE;
  second.find(page(3));
  second.run();
  const [at, next] = second.timesOf(page(3)) as [number, number];
  assert.equal(next - at, MINUTE + 10, 'the first step again');
});

test('back-off: a server that names its wait adds no steps', () => {
  let asked = 0;
  const agent = new OneAgent({
    web: () =>
      ++asked <= 4 ? { status: 503, retryAfterMs: 2000 } : { status: asked === 5 ? 503 : 200 },
  });
  agent.find(page(1));
  agent.run();
  const times = agent.timesOf(page(1));
  // Each wait is at least what the server names and as long as it has been busy; the page is
  // requeued behind other pages of the host.
  assert.deepEqual(times.slice(0, 5), [0, 2010, 5030, 11_070, 23_150]);
  assert.equal(times[5]! - times[4]!, 61_010);
});

test('sitemaps: the sitemaps that a robots.txt names are recorded at depth 0 with it as referrer', () => {
  const web: Options['web'] = ({ kind }) =>
    kind === 'robots'
      ? { robots: '', sitemaps: ['http://a.test/sitemap.xml', 'http://b.test/map.xml'] }
      : { status: 200 };
  const agent = new OneAgent({ robots: true, web });
  agent.find(page(1));
  agent.run();
  const rows = agent.db.prepare('SELECT url, depth, referrer FROM pages ORDER BY url').all();
  assert.deepEqual(rows, [
    { url: page(1), depth: 0, referrer: null },
    { url: 'http://a.test/sitemap.xml', depth: 0, referrer: ROBOTS },
    { url: 'http://b.test/map.xml', depth: 0, referrer: ROBOTS },
  ]);
});

test('novelty: pages with equal bytes or nearly equal words are stale, other pages are not', () => {
  const novelty = new Novelty();
  const seen = (digest: string, simhash: string | null, before: number) =>
    novelty.count('h', 'u', { digest, simhash }, before);
  assert.equal(seen('a', '0000000000000000', 0), 0);
  assert.equal(seen('a', 'ffffffffffffffff', 0), 1);
  assert.equal(seen('b', '8000000000000011', 1), 2, 'three bits');
  assert.equal(seen('c', '8000000000000111', 2), 0, 'four bits, and two off');
  assert.equal(seen('d', null, 10), 8);
  assert.equal(seen('e', null, 8), 6, 'pages of few words are compared only by their bytes');
  assert.equal(novelty.count('other', 'u', { digest: 'a', simhash: null }, 0), 0);
});

test('novelty: old pages of a host are forgotten', () => {
  const novelty = new Novelty();
  const give = (digest: string) => novelty.count('h', digest, { digest, simhash: null }, 5);
  assert.equal(give('first'), 3);
  for (let n = 0; n < 64; n++) give(`${n}`);
  assert.equal(give('first'), 3);
  assert.equal(give('63'), 6);
});

test('novelty: each step of the slow-down doubles the delay, up to six times', () => {
  const steps = [0, 49, 50, 100, 299, 300, 1e6].map(slowDownOf);
  assert.deepEqual(steps, [0, 0, 1, 2, 5, 6, 6]);
});

test('trap: a host that repeats itself is slowed down, reported with samples, and finally skipped', () => {
  let last = 0;
  const web: Options['web'] = () => {
    last++;
    return { status: 200, digest: 'same', links: [page(last), page(last + 1)] };
  };
  const stalePages = 2 * STALE_PER_STEP;
  const agent = new OneAgent({ web, stalePages, depthPerHost: 1000 });
  agent.find(page(0));
  agent.run();
  const pages = Object.keys(agent.pages()).length;
  assert.equal(pages, stalePages + 1, 'the first page is new');
  const times = agent.asked().map((url) => agent.timesOf(url)[0]!);
  const gaps = times.slice(1).map((at, i) => at - times[i]!);
  assert.deepEqual(new Set(gaps.slice(0, STALE_PER_STEP)), new Set([1010]));
  assert.deepEqual(new Set(gaps.slice(STALE_PER_STEP)), new Set([2010]));
  assert.deepEqual(new Set(Object.values(agent.skipped())), new Set(['trap']));
  const events = agent.db.prepare("SELECT at, detail FROM events WHERE kind = 'trap'").all() as {
    at: number;
    detail: string;
  }[];
  assert.equal(events.length, 2);
  const { host, stale, samples } = JSON.parse(events[0]!.detail) as Record<string, unknown>;
  assert.deepEqual([host, stale], ['a.test', STALE_PER_STEP]);
  assert.deepEqual(samples, [46, 47, 48, 49, 50].map(page));
  assert.ok(events[0]!.at > EPOCH);
  const recent = agent.events.recent(agent.now).map(({ kind, detail }) => [kind, detail.stale]);
  assert.deepEqual(recent.at(-1), ['trap', stalePages], 'status reports it, too');
  agent.find(page(100_000));
  agent.run();
  assert.equal(agent.skipped()[page(100_000)], 'trap', 'later URLs are skipped, too');
  agent.checkAccounts();
});

test('trap: a host with some duplicates is neither slowed down nor skipped', () => {
  let n = 0;
  const web: Options['web'] = () => {
    n++;
    return { status: 200, digest: n % 2 ? 'same' : `${n}`, links: n < 400 ? [page(n)] : [] };
  };
  const agent = new OneAgent({ web, stalePages: 50, depthPerHost: 1000 });
  agent.find(page(0));
  agent.run();
  assert.equal(Object.keys(agent.pages()).length, 400);
  const state = agent.db.prepare('SELECT stale FROM host_rows').pluck().get() as number;
  assert.ok(state < STALE_PER_STEP, `${state}`);
});

test('trap: the view `hosts` shows a host that is slowed down as a trap', () => {
  const agent = new OneAgent({ web: () => ({ status: 200 }) });
  agent.find(page(1), page(2));
  agent.run(500);
  agent.store.begin();
  agent.store.saveHost({ ...agent.store.host('a.test'), stale: STALE_PER_STEP }, null);
  agent.store.commit(false);
  assert.equal(agent.db.prepare('SELECT state FROM hosts').pluck().get(), 'trap');
});

test('delay: a copy has the latest delay that the owner reported', () => {
  const copy = new OneAgent({ web: () => ({ status: 200 }) });
  const rows = { host: 'a.test', from: 0, to: 0, events: [], backoffMs: 0 };
  const tell = (version: number, delayMs: number) => {
    copy.store.begin();
    copy.store.applyRows('a2', { ...rows, to: version, version, delayMs }, false, EPOCH);
    copy.store.commit(false);
    return copy.store.delayOf('a.test');
  };
  assert.equal(copy.store.delayOf('a.test'), 0);
  assert.equal(tell(5, 20_000), 20_000);
  assert.equal(tell(5, 1000), 20_000, 'this version was reported before');
  assert.equal(tell(6, 1000), 1000);
});

test('back-off: a copy has the end, the steps and the stale pages from the latest report', () => {
  const copy = new OneAgent({ web: () => ({ status: 200 }) });
  const rows = { host: 'a.test', from: 0, events: [], delayMs: 0 };
  const tell = (version: number, said: object, owned = false, now = EPOCH) => {
    copy.store.begin();
    const item = { ...rows, backoffMs: 0, ...said, to: version, version };
    copy.store.applyRows('a2', item, owned, now);
    copy.store.commit(false);
    const { notBefore, busy, busyUntil, stale } = copy.store.host('a.test');
    return { notBefore: notBefore && notBefore - EPOCH, busy, until: busyUntil - EPOCH, stale };
  };
  const first = tell(5, { backoffMs: 90_000, busy: 2, stale: 70 });
  assert.deepEqual(first, { notBefore: 90_000, busy: 2, until: 90_000, stale: 70 });
  assert.deepEqual(
    tell(5, { backoffMs: 500_000, busy: 9 }),
    first,
    'this version was reported before',
  );
  const later = tell(6, { busy: 2, stale: 68 }, false, EPOCH + 100_000);
  assert.deepEqual(later, { ...first, stale: 68 }, 'the back-off is over and keeps its end');
  // An owner ignores reports of other agents: it knows as much itself, or more.
  assert.deepEqual(tell(7, { backoffMs: 1000, busy: 1 }, true), later);
  assert.deepEqual(tell(8, { busy: 3 }, true), { ...later, busy: 3 });
  assert.deepEqual(tell(9, {}), { ...later, busy: 0, stale: 0 }, 'abandoned, or reset');
});

test('back-off: steps without a known back-off are reset after half an hour', () => {
  const copy = new OneAgent({ web: () => ({ status: 200 }) });
  const rows = { host: 'a.test', from: 0, events: [], delayMs: 0, backoffMs: 0, busy: 4 };
  for (const [version, now] of [[1, EPOCH] as const, [2, EPOCH + 60_000] as const]) {
    copy.store.begin();
    copy.store.applyRows('a2', { ...rows, to: version, version }, false, now);
    copy.store.commit(false);
    const { busy, busyUntil } = copy.store.host('a.test');
    assert.deepEqual([busy, busyUntil], [4, EPOCH], 'counted from the first report of them');
  }
});
