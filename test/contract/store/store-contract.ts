// The contract of the store, for every kind of database. The suites of store.test.ts run it on a
// file and in memory.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UrlItem } from '../../../agent/core/protocol/messages.ts';
import type { PageRecord, QueuePlace, Retry } from '../../../agent/frontier/frontier-store.ts';
import type { SqliteStore } from '../../../agent/storage/sqlite-store.ts';

export interface StoreUnderTest {
  readonly store: SqliteStore;
  /** The store as a new process finds it; the old one is closed, unless it is in memory. */
  reopened(): SqliteStore;
  dispose(): void;
}

export const HOST = 'a.test';
export const at = (path: string, host = HOST) => `http://${host}${path}`;

export function pageOf(url: string, rest: Partial<PageRecord> = {}): PageRecord {
  return {
    url,
    status: 200,
    error: null,
    contentType: 'text/html',
    bytes: 10,
    digest: null,
    fetchedAt: 1_700_000_000_000,
    durationMs: 5,
    redirectTo: null,
    attempts: 1,
    ...rest,
  };
}

/** A retry whose first attempt failed at 100. */
export function retryOf(attempts: number, notBefore: number): Retry {
  return { attempts, failedSince: 100, notBefore };
}

/** Runs `act` in a turn of its own. */
export function turn<T>(store: SqliteStore, act: () => T): T {
  store.begin();
  const result = act();
  store.commit(false);
  return result;
}

type Check = (store: SqliteStore, whole: StoreUnderTest) => void;
const claims: { readonly name: string; readonly check: Check }[] = [];

export function claim(name: string, check: Check): void {
  claims.push({ name, check });
}

/** Makes a test of each claim, with a fresh store of this kind. */
export function storeContract(kind: string, open: () => StoreUnderTest): void {
  for (const { name, check } of claims) {
    test(`${kind}: ${name}`, () => {
      const whole = open();
      try {
        check(whole.store, whole);
      } finally {
        whole.dispose();
      }
    });
  }
}

function insert(store: SqliteStore, ...items: (UrlItem & { host?: string })[]): string[] {
  return turn(store, () =>
    items.map(({ host = HOST, ...item }) => store.enqueue(host, item, null)),
  );
}

// ---- the queues of hosts

claim('a URL is new only the first time', (store) => {
  const item = { url: at('/1'), depth: 1 };
  assert.deepEqual(insert(store, item, item), ['new', 'known']);
  assert.equal(store.owned().queued, 1);
  assert.equal(store.queuedOf(HOST), 1);
  assert.equal(store.queuedOf('unknown.test'), 0);
});

claim('URLs that differ only in scheme, port or host are different URLs', (store) => {
  const urls = ['http://a.test/', 'https://a.test/', 'http://a.test:8080/', 'http://a.test./'];
  const here = urls.map((url) => ({ url, depth: 0 }));
  const results = insert(store, ...here, { url: 'http://b.test/', depth: 0, host: 'b.test' });
  assert.deepEqual(new Set(results), new Set(['new']));
  const { number } = store.host(HOST);
  const seen: string[] = [];
  for (let next = store.nextUrl(number, 0); next; next = store.nextUrl(number, 0)) {
    seen.push(next.url);
    store.recordPage(number, pageOf(next.url));
  }
  assert.deepEqual(seen, urls);
});

claim('queued URLs are returned by depth and then in the order of discovery', (store) => {
  const depths = [2, 0, 1, 0, 2, 1];
  insert(store, ...depths.map((depth, n) => ({ url: at(`/${n}`), depth })));
  const { number } = store.host(HOST);
  const order: string[] = [];
  for (let next = store.nextUrl(number, 0); next; next = store.nextUrl(number, 0)) {
    order.push(next.url);
    store.skip(number, next.url, 'robots');
  }
  assert.deepEqual(
    order,
    ['/1', '/3', '/2', '/5', '/0', '/4'].map((path) => at(path)),
  );
});

claim('a smaller depth changes a queued URL, but not a finished one', (store) => {
  insert(store, { url: at('/1'), depth: 5 }, { url: at('/2'), depth: 5 });
  const { number } = store.host(HOST);
  turn(store, () => store.recordPage(number, pageOf(at('/2'))));
  assert.deepEqual(
    insert(store, { url: at('/1'), depth: 0 }, { url: at('/2'), depth: 0, attempts: 9 }),
    ['known', 'known'],
  );
  assert.equal(store.nextUrl(number, 0)?.depth, 0);
  assert.equal(store.owned().queued, 1);
});

claim('the attempts of a previous owner are counted', (store) => {
  insert(store, { url: at('/1'), depth: 1, attempts: 2 }, { url: at('/2'), depth: 2 });
  insert(store, { url: at('/2'), depth: 2, attempts: 3 });
  const { number } = store.host(HOST);
  assert.equal(store.nextUrl(number, 0)?.attempts, 2);
  turn(store, () => store.skip(number, at('/1'), 'robots'));
  assert.equal(store.nextUrl(number, 0)?.attempts, 3);
});

claim('the form of a URL for requests is stored', (store) => {
  insert(store, { url: at('/~x'), fetchUrl: at('/%7Ex'), depth: 0 });
  const { number } = store.host(HOST);
  assert.equal(store.nextUrl(number, 0)?.fetchUrl, at('/%7Ex'));
  assert.equal(store.nextUrl(number, 0)?.depth, 0);
});

claim('a URL that waits for a retry is skipped until its time', (store) => {
  insert(store, { url: at('/1'), depth: 0 }, { url: at('/2'), depth: 7 });
  const { number } = store.host(HOST);
  turn(store, () => store.requeue(number, at('/1'), retryOf(1, 500.25)));
  assert.equal(store.nextUrl(number, 500)?.url, at('/2'));
  assert.equal(store.nextUrlAt(number), 0);
  turn(store, () => store.skip(number, at('/2'), 'robots'));
  assert.equal(store.nextUrl(number, 500), null);
  assert.equal(store.nextUrlAt(number), 500.25);
  const { url, attempts } = store.nextUrl(number, 500.25)!;
  assert.deepEqual([url, attempts], [at('/1'), 1]);
  turn(store, () => store.recordPage(number, pageOf(at('/1'))));
  assert.equal(store.nextUrlAt(number), null);
});

claim('retries that are due keep their place in the order', (store) => {
  insert(store, ...[0, 1, 2, 3].map((n) => ({ url: at(`/${n}`), depth: n % 2 })));
  const { number } = store.host(HOST);
  for (const [n, until] of [300, 200, 100, 400].entries()) {
    turn(store, () => store.requeue(number, at(`/${n}`), retryOf(1, until)));
  }
  assert.equal(store.nextUrl(number, 300)?.url, at('/0'));
  assert.equal(store.nextUrlAt(number), 0);
});

claim('endQueued ends the URLs of one origin in batches and no others', (store) => {
  const urls = ['/1', '/2', '/3'].map((path) => at(path));
  const others = ['https://a.test/1', 'http://a.test:81/1', 'http://a.test./1'];
  insert(store, ...[...urls, ...others].map((url) => ({ url, depth: 0 })));
  const { number } = store.host(HOST);
  turn(store, () => store.requeue(number, urls[2]!, retryOf(2, 900)));
  const ending = { origin: 'http://a.test', as: { kind: 'failed', error: 'dns' } } as const;
  assert.equal(
    turn(store, () => store.endQueued(number, ending, 7, 2).ended),
    2,
  );
  assert.equal(
    turn(store, () => store.endQueued(number, ending, 7, 2).ended),
    1,
  );
  assert.equal(
    turn(store, () => store.endQueued(number, ending, 7, 2).ended),
    0,
  );
  assert.equal(store.pagesDone(number), 3);
  assert.equal(store.queuedOf(HOST), 3);
  const rest = { origin: null, as: { kind: 'skipped', reason: 'pages' } } as const;
  assert.equal(
    turn(store, () => store.endQueued(number, rest, 7, 100).ended),
    3,
  );
  assert.equal(store.owned().queued, 0);
  assert.equal(store.owned().pages, 3);
});

claim('endQueued reads a long queue in pieces even if few URLs end', (store) => {
  const others = Array.from({ length: 2500 }, (_, n) => `https://a.test/${n}`);
  insert(store, ...[at('/1'), ...others, at('/2')].map((url) => ({ url, depth: 0 })));
  const { number } = store.host(HOST);
  const ending = { origin: 'http://a.test', as: { kind: 'failed', error: 'dns' } } as const;
  const pieces: number[] = [];
  let upTo: QueuePlace | null = null;
  do {
    const piece = turn(store, () => store.endQueued(number, ending, 7, 500, upTo));
    pieces.push(piece.ended);
    upTo = piece.upTo;
  } while (upTo !== null);
  assert.deepEqual(pieces, [1, 0, 1]);
  assert.equal(store.queuedOf(HOST), 2500);
});

// ---- the states of URLs and hosts

claim('the state of a URL only moves forward', (store) => {
  insert(store, { url: at('/1'), depth: 0 });
  const { number } = store.host(HOST);
  turn(store, () => {
    store.recordPage(number, pageOf(at('/1')));
    store.recordPage(number, pageOf(at('/1'), { status: null, error: 'dns' }));
    store.skip(number, at('/1'), 'robots');
    store.requeue(number, at('/1'), retryOf(3, 0));
    store.failUrl(HOST, { url: at('/1'), depth: 0 }, 'refused', 1);
  });
  assert.equal(store.owned().pages, 1);
  assert.equal(store.pagesDone(number), 1);
  assert.equal(store.owned().queued, 0);
  assert.equal(store.nextUrlAt(number), null);
});

claim(`a fetched page is unsettled until it is settled, and a skipped one never is`, (store) => {
  insert(store, ...['/1', '/2', '/3'].map((path) => ({ url: at(path), depth: 0 })));
  const { number } = store.host(HOST);
  turn(store, () => {
    store.recordPage(number, pageOf(at('/1')));
    store.recordPage(number, pageOf(at('/2'), { status: null, error: 'reset' }));
    store.skip(number, at('/3'), 'robots');
    store.skip(number, at('/1'), 'robots');
  });
  const both = ['/1', '/2'].map((path) => ({ host: HOST, url: at(path) }));
  assert.deepEqual(store.unsettled(10), both);
  assert.deepEqual(store.unsettled(1), both.slice(0, 1));
  turn(store, () => store.settle(HOST, at('/1')));
  assert.deepEqual(store.unsettled(10), both.slice(1));
});

claim('the counter grows with every found URL and every settled page', (store) => {
  store.raiseCounter(1_000_000);
  const before = store.counter();
  insert(store, { url: at('/1'), depth: 0 });
  const found = store.counter();
  turn(store, () => store.recordPage(store.host(HOST).number, pageOf(at('/1'))));
  turn(store, () => store.settle(HOST, at('/1')));
  assert.ok(before >= 1_000_000 && found > before && store.counter() > found);
});

claim('a URL that no agent accepts ends as failed and is counted', (store) => {
  const item = { url: at('/1'), depth: 3, attempts: 2 };
  turn(store, () => store.failUrl(HOST, item, 'refused by peer: x', 5));
  assert.equal(store.owned().pages, 1);
  assert.equal(store.owned().queued, 0);
  assert.deepEqual(store.unsettled(1), []);
  assert.deepEqual(insert(store, item), ['known']);
});

claim('hosts are numbered in the order of their discovery', (store) => {
  for (const host of ['c.test', 'a.test', 'b.test']) {
    insert(store, { url: at('/', host), depth: 0, host });
  }
  assert.deepEqual(store.hosts(), ['c.test', 'a.test', 'b.test']);
  turn(store, () => store.skip(store.host('a.test').number, at('/', 'a.test'), 'robots'));
  const queued = store.queuedFrom(0, 9).map(({ host }) => host);
  assert.deepEqual(queued, ['c.test', 'b.test']);
  assert.equal(store.owned().hosts, 3);
  assert.equal(store.owned().hostsWithQueue, 2);
});

claim('queuedFrom returns hosts with a queue from a number on, and marks copies', (store) => {
  for (const host of ['a.test', 'b.test', 'c.test', 'd.test']) {
    insert(store, { url: at('/', host), depth: 0, host });
  }
  const [a, , c, d] = ['a.test', 'b.test', 'c.test', 'd.test'].map((h) => store.host(h).number);
  turn(store, () => store.skip(store.host('b.test').number, at('/', 'b.test'), 'robots'));
  turn(store, () => store.setOwned('c.test', false));
  assert.deepEqual(store.queuedFrom(0, 2), [
    { number: a, host: 'a.test', owned: true },
    { number: c, host: 'c.test', owned: false },
  ]);
  assert.deepEqual(store.queuedFrom(c! + 1, 2), [{ number: d, host: 'd.test', owned: true }]);
});

claim('the last robots.txt result of each origin is stored', (store) => {
  const { number } = store.host(HOST);
  const rules = { fetchedAt: 5.5, body: Buffer.from('x'), attempts: 0, retryAt: 0, reason: '' };
  turn(store, () => store.saveRobots(number, 'http://a.test', { ...rules, kind: 'rules' }));
  const never = { ...rules, kind: 'unreachable', body: null, retryAt: Infinity } as const;
  turn(store, () => store.saveRobots(number, 'https://a.test', never));
  const read = store.robots(number, 'http://a.test')!;
  assert.deepEqual({ ...read, body: Buffer.from(read.body!) }, { ...rules, kind: 'rules' });
  assert.deepEqual(store.robots(number, 'https://a.test'), never);
  assert.equal(store.robots(number, 'http://a.test:81'), null);
  const hop = { location: 'http://a.test:81/r', hops: 2 };
  const onTheWay = { ...rules, kind: 'redirected', body: null, hop, crawlDelayMs: 7 } as const;
  turn(store, () => store.saveRobots(number, 'http://a.test:81', onTheWay));
  assert.deepEqual(store.robots(number, 'http://a.test:81'), onTheWay);
  assert.equal(store.crawlDelay(number), 7);
});

claim('a copy can be complete if its last event was a robots.txt that was replaced', (store) => {
  const { number } = store.host(HOST);
  const rules = { fetchedAt: 5, body: Buffer.from('x'), attempts: 0, retryAt: 0, reason: '' };
  const origin = 'http://a.test';
  turn(store, () => store.saveRobots(number, origin, { ...rules, kind: 'rules' }));
  const last = store.lastNumber(HOST);
  store.trimRowEvents(HOST, last);
  const never = { ...rules, kind: 'unreachable', body: null, retryAt: Infinity } as const;
  turn(store, () => store.saveRobots(number, origin, never));
  assert.deepEqual(store.rowEvents(HOST, 0, 10, 9), { events: [], to: last });
  turn(store, () => store.saveRobots(number, origin, { ...rules, kind: 'allowAll', body: null }));
  const { events, to } = store.rowEvents(HOST, 0, 10, 9);
  assert.deepEqual([events.length, to > last], [1, true]);
  assert.equal(to, store.lastNumber(HOST));
});

claim('a restart finds the whole state unchanged', (store, whole) => {
  insert(store, ...[1, 2, 3].map((n) => ({ url: at(`/${n}`), depth: n })));
  const before = store.host(HOST);
  const saved = {
    ...before,
    notBefore: 7.5,
    lastFetchAt: 6,
    busy: 2,
    busySince: 3,
    unconnected: 1,
  };
  turn(store, () => {
    store.saveHost(saved, '192.0.2.1');
    store.requeue(before.number, at('/1'), retryOf(2, 900));
    store.recordPage(before.number, pageOf(at('/2')));
    store.addToOutbox('b.test', 'x', { url: at('/', 'b.test'), depth: 0 });
  });
  store.saveIncarnation(41);
  const n = store.counter();
  const again = whole.reopened();
  assert.deepEqual(again.host(HOST), saved);
  assert.equal(again.owned().queued, 2);
  assert.equal(again.owned().pages, 1);
  assert.equal(again.pagesDone(before.number), 1);
  assert.equal(again.outboxCount(), 1);
  assert.equal(again.incarnation(), 41);
  assert.equal(again.counter(), n);
  assert.deepEqual(again.unsettled(5), [{ host: HOST, url: at('/2') }]);
  assert.equal(again.nextUrl(before.number, 0)?.url, at('/3'));
  assert.deepEqual(insert(again, { url: at('/1'), depth: 1 }), ['known']);
});

claim('a longer wait of a host increments its number without an event', (store) => {
  insert(store, { url: at('/1'), depth: 0 });
  const saved = (change: object) => {
    turn(store, () => store.saveHost({ ...store.host(HOST), ...change }, null));
    return store.lastNumber(HOST);
  };
  turn(store, () => store.takeChangedHosts());
  const before = store.lastNumber(HOST);
  assert.equal(saved({ lastFetchAt: 5, busy: 1 }), before);
  assert.equal(store.hasChangedHosts(), false);
  const held = saved({ notBefore: 90_000 });
  assert.ok(held > before);
  assert.deepEqual([...store.takeChangedHosts()], [HOST]);
  assert.deepEqual(store.rowEvents(HOST, before, 10, 0), { events: [], to: held });
  for (const notBefore of [90_000, 10]) assert.equal(saved({ notBefore }), held);
});

claim(
  `an incarnation that is stored during a turn is kept, and the turn continues`,
  (store, whole) => {
    store.begin();
    store.enqueue(HOST, { url: at('/1'), depth: 0 }, null);
    store.saveIncarnation(7);
    store.enqueue(HOST, { url: at('/2'), depth: 0 }, null);
    store.commit(false);
    const again = whole.reopened();
    assert.equal(again.incarnation(), 7);
    assert.equal(again.owned().queued, 2);
  },
);
