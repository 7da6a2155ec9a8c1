import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  Networks,
  NetworksCalls,
  RedisFailure,
} from '../../../../agent/core/crawl/networks-port.ts';
import { SharedCrawl } from '../../../../agent/core/crawl/shared-crawl.ts';

const parts = {
  view: { joined: true, owns: (host: string) => host !== 'foreign' },
  store: {
    hasUrlFor: (host: string) => host !== 'empty',
    owned: () => ({ hosts: 9, hostsWithQueue: 9, queued: 20, pages: 0 }),
  },
  directives: { paused: false },
  routing: { route: () => ({ outboxIds: new Set<number>(), hosts: new Map<string, number>() }) },
  admit: () => null,
  hostOf: (url: string) => (/^http:\/\/([a-z]+)\//.exec(url) ?? [])[1] ?? null,
  isIdle: () => false,
  activity() {},
  isCrawling: () => true,
  isOver: () => false,
  visits: {
    wake() {},
    isOpen: () => false,
    waitsForNetworks: () => false,
    waiting: () => ['a', 'foreign', 'empty', 'b'],
  },
};

const message = 'network paris: Redis at 127.0.0.1:6380: ECONNREFUSED';

test('networks: a Redis that fails is recorded once, and once when it no longer does', () => {
  let failures: RedisFailure[] = [];
  const recorded: unknown[] = [];
  const crawl = new SharedCrawl({
    networks: {
      ...{ network: 'berlin', isQuiet: true, begin() {}, pump() {} },
      failures: () => failures,
    } as Partial<Networks> as Networks,
    ...parts,
    events: { record: (...event) => recorded.push(event) },
  });
  const pump = (mono: number, ...now: RedisFailure[]) => {
    failures = now;
    crawl.pump({ mono, wall: mono });
  };
  const failure = { network: 'paris', message };
  pump(1);
  assert.deepEqual(recorded, []);
  for (const mono of [100, 200]) pump(mono, { ...failure, forMs: mono - 100, quietMs: 0 });
  pump(5000, { ...failure, forMs: 4900, quietMs: 4800 });
  assert.deepEqual(recorded.splice(0), [[100, 'network', { network: 'paris', why: message }]]);
  for (const mono of [7000, 7001]) pump(mono);
  assert.deepEqual(recorded.splice(0), [[7000, 'network', { network: 'paris', tookMs: 100 }]]);
  pump(9000, { ...failure, forMs: 0, quietMs: 0 });
  assert.equal(recorded.length, 1);
});

/** What the networks may call. */
function callsOf(changes: Partial<ConstructorParameters<typeof SharedCrawl>[0]>): NetworksCalls {
  const begun: NetworksCalls[] = [];
  const networks: Partial<Networks> = {
    network: 'berlin',
    begin: (calls) => void begun.push(calls),
  };
  const events = { record: () => 0 };
  new SharedCrawl({ ...parts, events, ...changes, networks: networks as Networks });
  return begun[0]!;
}

test('networks: an agent gives its own hosts, unless it has few URLs, is paused or about to exit', () => {
  const sparesOf = (changes: Partial<typeof parts>) => callsOf(changes).spareHosts();
  assert.deepEqual(sparesOf({}), ['a', 'b']);
  assert.deepEqual(sparesOf({ directives: { paused: true } }), []);
  assert.deepEqual(sparesOf({ isCrawling: () => false }), []);
  const owned = () => ({ hosts: 9, hostsWithQueue: 9, queued: 19, pages: 0 });
  assert.deepEqual(sparesOf({ store: { ...parts.store, owned } }), []);
});

test('networks: after the end of the crawl, an agent tells of no work', () => {
  assert.equal(callsOf({}).isDone(), false);
  assert.equal(callsOf({ isIdle: () => true }).isDone(), true);
  assert.equal(callsOf({ isOver: () => true }).isDone(), true);
});

test('networks: of a gift, what the config refuses stays unknown', () => {
  const routed: unknown[] = [];
  const calls = callsOf({
    admit: ({ depth }) => (depth > 3 ? 'depth' : null),
    routing: {
      route: (items) => {
        routed.push(...items);
        return parts.routing.route();
      },
    },
  });
  const good = { url: 'http://a/', depth: 3 };
  calls.accept([good, { url: 'http://b/', depth: 4 }]);
  assert.deepEqual(routed.splice(0), [good]);
  const found = { ...good, referrer: 'http://b/' };
  calls.accept([found, { ...good, url: 'HTTP://a/' }]);
  assert.deepEqual(routed.splice(0), [found]);
  calls.accept([{ ...good, referrer: 'mailto:x' }]);
  assert.deepEqual(routed, [good]);
});

test('networks: a host has work if it has a request, or queued URLs and no pause', () => {
  const hasWork = (host: string, changes: Partial<typeof parts> = {}) =>
    callsOf(changes).hasWork(host);
  assert.deepEqual(
    ['a', 'empty', 'foreign'].map((host) => hasWork(host)),
    [true, false, false],
  );
  const directives = { paused: true };
  assert.equal(hasWork('a', { directives }), false);
  const visits = { ...parts.visits, isOpen: () => true };
  assert.equal(hasWork('a', { directives, visits }), true);
});
