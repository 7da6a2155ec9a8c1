import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explanationOf } from '../../../../agent/control/explanation.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import type { ReadRow } from '../../../../agent/storage/reads/url-facts.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { DirectiveTable } from '../../../../agent/storage/tables/directive-table.ts';

function file() {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 100 });
  const read: ReadRow = (sql, ...values) =>
    db.prepare<unknown[], Record<string, unknown>>(sql).get(...values);
  const explain = (identity: string, form = identity) => {
    store.commit(false);
    const found = explanationOf({ agent: 'a1', userAgent: 'tester/1.0', read, identity, form });
    store.begin();
    return found;
  };
  store.begin();
  return { db, store, explain, number: (host: string) => store.host(host).number };
}

test('explain: an unknown URL on an unknown host has no facts', () => {
  const { url, host, robots, inOutbox, paused } = file().explain('http://h.test/x');
  const none = { url: null, host: null, robots: null, inOutbox: false, paused: false };
  assert.deepEqual({ url, host, robots, inOutbox, paused }, none);
});

test('explain: a page has its outcome, its referrer and the robots.txt rule', () => {
  const { store, explain, number } = file();
  const [url, referrer] = ['https://h.test/x', 'https://h.test/'];
  store.enqueue('h.test', { url, depth: 1, referrer, fetchUrl: 'https://h.test/x?s=1' }, null);
  store.recordPage(number('h.test'), {
    ...{ url, status: 200, error: null, contentType: 'text/html', bytes: 9, digest: null },
    ...{ fetchedAt: 77, durationMs: 3, redirectTo: null, attempts: 2 },
  });
  const body = Buffer.from('User-agent: tester\nDisallow: /x\nAllow: /x?s');
  const rules = {
    kind: 'rules',
    fetchedAt: 50,
    body,
    attempts: 0,
    retryAt: 0,
    reason: '',
  } as const;
  store.saveRobots(number('h.test'), 'https://h.test', rules);
  const found = explain(url);
  assert.equal(found.url?.state, 'response');
  assert.deepEqual(
    [found.url?.referrer, found.url?.attempts, found.url?.status],
    [referrer, 2, 200],
  );
  assert.equal(found.url?.fetchUrl, 'https://h.test/x?s=1');
  // The robots.txt rules apply to the form that is requested, not to the identity.
  assert.deepEqual([found.robots?.allowed, found.robots?.rule], [true, 'Allow: /x?s']);
  assert.equal(explain('https://h.test/x2').robots?.rule, 'Disallow: /x');
  const unknown = explain('https://h.test/x3', 'https://h.test/x3?s=1');
  assert.equal(unknown.robots?.rule, 'Disallow: /x', 'the first rule that matches decides');
  assert.equal(explain('http://h.test/x').robots, null, 'another origin');
});

test('explain: a requeued page is reported as such, with its previous outcome', () => {
  const { store, explain, number } = file();
  const [url, fresh] = ['https://h.test/', 'https://h.test/x'];
  store.enqueue('h.test', { url, depth: 0 }, null);
  assert.deepEqual([explain(url).url?.again, explain(url).url?.former], [false, null]);
  store.recordPage(number('h.test'), {
    ...{ url, status: null, error: 'timeout', contentType: null, bytes: 0, digest: null },
    ...{ fetchedAt: 77, durationMs: 3, redirectTo: null, attempts: 2 },
  });
  assert.deepEqual([explain(url).url?.again, explain(url).url?.former], [false, null]);
  store.beginRound(5);
  store.requeueKnown('h.test', 10);
  store.enqueue('h.test', { url: fresh, depth: 1 }, null);
  const { state, again, former, fetchedAt } = explain(url).url!;
  assert.deepEqual([state, again, fetchedAt], ['queued', true, null]);
  assert.deepEqual(former, { status: null, error: 'timeout', fetchedAt: 77 });
  assert.deepEqual([explain(fresh).url?.again, explain(fresh).url?.former], [false, null]);
  store.skip(number('h.test'), url, 'scope');
  const skipped = explain(url).url!;
  assert.deepEqual([skipped.state, skipped.reason, skipped.again], ['skipped', 'scope', false]);
  assert.deepEqual(skipped.former, { status: null, error: 'timeout', fetchedAt: 77 });
});

test('explain: a page that ended again has no previous outcome, not even as a redirect', () => {
  const { store, explain, number } = file();
  const url = 'https://h.test/';
  const page = {
    error: null,
    contentType: null,
    bytes: 1,
    digest: null,
    durationMs: 3,
    attempts: 1,
  };
  store.enqueue('h.test', { url, depth: 0 }, null);
  const to = { url, ...page, status: 200, redirectTo: null, fetchedAt: 77 };
  store.recordPage(number('h.test'), to);
  store.beginRound(5);
  store.requeueKnown('h.test', 10);
  store.recordPage(number('h.test'), { ...to, status: 302, redirectTo: `${url}x`, fetchedAt: 88 });
  assert.deepEqual([explain(url).url?.fetchedAt, explain(url).url?.former], [88, null]);
});

test('explain: an unreachable robots.txt forbids for now, with the reason', () => {
  const { store, explain, number } = file();
  store.enqueue('h.test', { url: 'http://h.test/', depth: 0 }, null);
  const none = { body: null, attempts: 2, retryAt: 99, reason: 'timeout' };
  store.saveRobots(number('h.test'), 'http://h.test', {
    ...{ kind: 'unreachable', fetchedAt: 50 },
    ...none,
  });
  const { robots, url } = explain('http://h.test/');
  assert.deepEqual(
    { ...robots },
    {
      kind: 'unreachable',
      fetchedAt: 50,
      retryAt: 99,
      allowed: null,
      rule: null,
      reason: 'timeout',
    },
  );
  const last = { kind: 'unreachable', fetchedAt: 60, ...none, retryAt: Infinity } as const;
  store.saveRobots(number('h.test'), 'http://h.test', last);
  assert.equal(explain('http://h.test/').robots?.retryAt, null);
  assert.deepEqual([url?.state, url?.referrer, url?.settled], ['queued', null, false]);
});

test('explain: reports directives for the host, a skip with its reason, and a URL in the outbox', () => {
  const { db, store, explain } = file();
  store.enqueue('h.test', { url: 'http://h.test/', depth: 99 }, 'depth');
  store.addToOutbox('far.test', 'a2', { url: 'http://far.test/', depth: 0 });
  const orders = new DirectiveTable(db);
  orders.saveDirective({ kind: 'block', host: 'h.test', value: 1, n: 1, by: 'a1' }, 0);
  orders.saveDirective({ kind: 'delay', host: 'h.test', value: 5000, n: 2, by: 'a1' }, 0);
  orders.saveDirective({ kind: 'pause', host: '', value: 1, n: 3, by: 'a1' }, 0);
  const { url, host, paused, blockedBy } = explain('http://h.test/');
  assert.deepEqual([url?.state, url?.reason, paused], ['skipped', 'depth', true]);
  assert.deepEqual([blockedBy, host?.delayMs], ['h.test', 5000]);
  assert.equal(explain('http://far.test/').inOutbox, true);
  orders.saveDirective({ kind: 'block', host: 'h.test', value: null, n: 4, by: 'a1' }, 0);
  orders.saveDirective({ kind: 'delay', host: 'h.test', value: null, n: 5, by: 'a1' }, 0);
  assert.deepEqual(
    [explain('http://h.test/').blockedBy, explain('http://h.test/').host?.delayMs],
    [null, 100],
  );
  orders.saveDirective({ kind: 'block', host: '*', value: 1, n: 6, by: 'a1' }, 0);
  orders.saveDirective({ kind: 'block', host: '*.h.test', value: 1, n: 7, by: 'a1' }, 0);
  assert.equal(explain('http://new.h.test/').blockedBy, '*.h.test', 'no host of the file');
  assert.equal(explain('http://h.test/').blockedBy, '*');
});

test('explain: robots.txt was requested for the first known URL of its origin', () => {
  const { store, explain } = file();
  const found = (url: string) => store.enqueue('h.test', { url, depth: 0 }, null);
  for (const path of ['/x', '/', '/y']) found(`http://h.test:81${path}`);
  found('http://h.test:8/');
  const askedFor = (url: string) => explain(url).askedFor;
  assert.equal(askedFor('http://h.test:81/robots.txt'), 'http://h.test:81/x');
  assert.equal(askedFor('http://h.test:8/robots.txt'), 'http://h.test:8/');
  assert.equal(askedFor('https://h.test:8/robots.txt'), null);
  assert.equal(askedFor('http://h.test:8/other'), null);
  found('http://h.test:81/robots.txt');
  assert.equal(askedFor('http://h.test:81/robots.txt'), null, 'it was found as a URL itself');
});

test('explain: a host that waits for another of its origins reports that origin', () => {
  const { store, explain, number } = file();
  store.enqueue('h.test', { url: 'http://h.test/', depth: 0 }, null);
  const save = (origin: string, reason: string) =>
    store.saveRobots(number('h.test'), origin, {
      ...{ kind: 'unreachable', fetchedAt: 50, body: null, attempts: 0, retryAt: 50, reason },
    });
  save('http://h.test:82', 'reset');
  assert.equal(explain('http://h.test/').heldBy, null);
  save('http://h.test:81', 'redirected to http://b.test/robots.txt, whose owner is asked');
  assert.equal(explain('http://h.test/').heldBy, 'http://h.test:81');
  assert.equal(
    explain('http://h.test:81/').heldBy,
    null,
    'the wait of its own origin is in `robots`',
  );
});
