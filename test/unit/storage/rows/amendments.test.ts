// Tests facts that are learned about a queued URL later, namely that it is a sitemap, redirects to
// another form of itself, or failed: they are kept through all later changes of the URL, and sent to
// the copies.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const HOST = 'a.test';
const at = (path: string) => `http://${HOST}${path}`;
const options = { durability: 'process', hostDelayMs: 0 } as const;

const page = {
  ...{ status: 200, error: null, contentType: 'text/html', bytes: 10, digest: null, attempts: 1 },
  ...{ fetchedAt: 1_700_000_000_000, durationMs: 5, redirectTo: null },
};

test('sitemaps: a queued URL that is declared later stays a sitemap through retries, restarts and rounds', () => {
  const db = openInMemory();
  const store = new SqliteStore(db, options);
  const sitemap = true;
  store.enqueue(HOST, { url: at('/1'), depth: 2 }, null);
  store.enqueue(HOST, { url: at('/2'), depth: 3, sitemap }, null);
  const { number } = store.host(HOST);
  const next = (from: SqliteStore) => {
    const { url, depth, sitemap: isSitemap = false } = from.nextUrl(number, 1000)!;
    return { url, depth, isSitemap };
  };
  assert.deepEqual(next(store), { url: at('/1'), depth: 2, isSitemap: false });
  assert.equal(store.enqueue(HOST, { url: at('/1'), depth: 7, sitemap }, null), 'known');
  const declared = { url: at('/1'), depth: 2, isSitemap: true };
  assert.deepEqual(next(store), declared);
  store.enqueue(HOST, { url: at('/1'), depth: 2 }, null);
  store.moveTo(number, at('/1'), { fetchUrl: `${at('/1')}?s=1`, hops: 1 });
  store.requeue(number, at('/1'), { attempts: 1, failedSince: 100, notBefore: 900 });
  store.begin();
  store.commit(false);
  const again = new SqliteStore(db, options);
  assert.deepEqual(next(again), declared);
  again.recordPage(number, { ...page, url: at('/1') });
  assert.deepEqual(next(again), { url: at('/2'), depth: 3, isSitemap: true });
  again.settle(HOST, at('/1'));
  again.beginRound(1);
  again.requeueKnown(HOST, 10);
  assert.deepEqual(next(again), declared);
});

/** An owner and a copy, which `stream` updates. */
function pair() {
  const [owner, copy] = [openInMemory(), openInMemory()].map((db) => new SqliteStore(db, options));
  const stream = () => {
    const from = copy!.markOf(HOST, 'owner');
    const { events, to } = owner!.rowEvents(HOST, from, 100, 0);
    const about = { host: HOST, from, to, version: 1, backoffMs: 0, delayMs: 0 };
    copy!.applyRows('owner', { ...about, events }, false, 0);
  };
  const next = () => copy!.nextUrl(copy!.host(HOST).number, 0)!;
  return { owner: owner!, copy: copy!, stream, next };
}

test('sitemaps: the copies of a queued URL learn that it was declared', () => {
  const { owner, stream, next } = pair();
  owner.enqueue(HOST, { url: at('/1'), depth: 0 }, null);
  stream();
  assert.equal(next().sitemap, undefined);
  owner.enqueue(HOST, { url: at('/1'), depth: 0, sitemap: true }, null);
  stream();
  assert.equal(next().sitemap, true);
});

test('attempts: a copy that takes over continues to count the failed requests, in every round', () => {
  const { owner, stream, next } = pair();
  owner.enqueue(HOST, { url: at('/1'), depth: 0 }, null);
  const { number } = owner.host(HOST);
  const fail = (attempts: number) =>
    owner.requeue(number, at('/1'), { attempts, failedSince: 100, notBefore: 900 });
  stream();
  fail(1);
  fail(2);
  stream();
  assert.deepEqual([next().attempts, next().depth], [2, 0]);
  // A wait without a request is no news for the copies.
  const { to } = owner.rowEvents(HOST, 0, 100, 0);
  fail(2);
  assert.equal(owner.rowEvents(HOST, 0, 100, 0).to, to);
  // Redirects to another form of the URL begin anew.
  owner.moveTo(number, at('/1'), { fetchUrl: `${at('/1')}?s=1`, hops: 1 });
  stream();
  assert.deepEqual([next().attempts, next().hops], [0, 1]);
  fail(1);
  stream();
  assert.deepEqual([next().attempts, next().hops], [1, 1]);
  owner.recordPage(number, { ...page, url: at('/1'), attempts: 2 });
  owner.settle(HOST, at('/1'));
  stream();
  assert.equal(next(), null);
  owner.beginRound(1);
  owner.requeueKnown(HOST, 10);
  stream();
  assert.equal(next().attempts, 0);
  fail(3);
  stream();
  assert.equal(next().attempts, 3);
});

test('forms: a copy that takes over continues with the form to which redirects led', () => {
  const { owner, copy, stream, next } = pair();
  const form = `${at('/1')}?s=1`;
  owner.enqueue(HOST, { url: at('/1'), depth: 0, fetchUrl: `${at('/1')}?s=0` }, null);
  stream();
  owner.moveTo(owner.host(HOST).number, at('/1'), { fetchUrl: form, hops: 4 });
  stream();
  assert.deepEqual([next().fetchUrl, next().hops], [form, 4]);
  // The URL returns to the form that equals its identity.
  owner.moveTo(owner.host(HOST).number, at('/1'), { fetchUrl: at('/1'), hops: 5 });
  stream();
  assert.deepEqual([next().fetchUrl, next().hops], [at('/1'), 5]);
  // A form on another host is ignored.
  const about = { host: HOST, from: 0, version: 2, backoffMs: 0, delayMs: 0 };
  const again = { kind: 'again', n: 1, key: 'h/1', round: 0, attempts: 0, hops: 9 } as const;
  const events = [{ ...again, fetchUrl: 'http://b.test/1' }];
  copy.applyRows('stranger', { ...about, to: 1, events }, false, 0);
  assert.deepEqual([next().fetchUrl, next().hops], [at('/1'), 5]);
});
