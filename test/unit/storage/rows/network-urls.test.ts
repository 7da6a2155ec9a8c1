// The URLs of an agent as other networks see them: which wait for a verdict, what a verdict does, and
// what is reported and kept until Redis has confirmed it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { leaveNetworks, type UrlReport } from '../../../../agent/storage/rows/network-urls.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const HOST = 'a.test';
const URL = `http://${HOST}/1`;

const FIRST = { identity: `http://${HOST}/0`, kind: 'released' };

function stage({ isOwned = true, urls = [URL] } = {}) {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 0, isShared: true });
  store.begin();
  store.enqueue(HOST, { url: `http://${HOST}/0`, depth: 0 }, 'robots');
  store.setOwned(HOST, isOwned);
  for (const url of urls) store.enqueue(HOST, { url, depth: 0 }, null);
  const { number } = store.host(HOST);
  const view = (name: string) => db.prepare(`SELECT url, state, network FROM ${name}`).all();
  const finish = (url: string) => {
    const none = { contentType: null, bytes: 0, digest: null, redirectTo: null, error: null };
    const page = { ...none, status: 200, durationMs: 1, fetchedAt: 1, attempts: 1 };
    store.recordPage(number, { url, ...page } as never);
    store.settle(HOST, url);
  };
  return { db, store, networks: store.networks!, number, view, finish };
}

describe('a queued URL of a shared crawl', () => {
  it('waits for a verdict, and is not requested before', () => {
    const { store, networks, number, view } = stage();
    assert.deepEqual(view('frontier'), [{ url: URL, state: 'asking', network: null }]);
    assert.equal(store.nextUrl(number, 9e13), null);
    assert.equal(store.nextUrlAt(number), 'networks');
    assert.equal(store.hasUrlFor(HOST), false);
    assert.deepEqual(networks.more(9), [URL]);
    assert.equal(store.decide(URL, { kind: 'new' }), true);
    assert.equal(store.nextUrl(number, 0)?.url, URL);
    assert.equal(store.hasUrlFor(HOST), true);
    assert.deepEqual(networks.more(9), []);
  });

  it('whose claim has lapsed waits for a verdict again', () => {
    const { store, networks, number, view } = stage({ urls: [URL, `${URL}1`] });
    store.decide(URL, { kind: 'new' });
    store.decide(`${URL}1`, { kind: 'elsewhere', network: 'paris', isFinal: false });
    networks.takeNews();
    networks.askAgain([URL, `${URL}1`, FIRST.identity, 'http://other.test/']);
    assert.equal(store.nextUrl(number, 9e13), null);
    assert.deepEqual(networks.more(9), [URL]);
    assert.equal(networks.takeNews().hasMore, true);
    assert.deepEqual(
      view('frontier').map((row) => (row as { state: string }).state),
      ['asking', 'elsewhere'],
    );
    assert.equal(store.decide(URL, { kind: 'new' }), true);
    assert.equal(store.nextUrl(number, 0)?.url, URL);
  });

  it('that is given counts as claimed elsewhere, with what is known of it', () => {
    const { store, networks, view } = stage({ urls: [URL, `${URL}1`, `${URL}2`] });
    store.enqueue(HOST, { url: `${URL}3`, depth: 2, referrer: URL, sitemap: true }, null);
    for (const end of ['1', '2', '3']) store.decide(`${URL}${end}`, { kind: 'new' });
    assert.deepEqual(networks.give(HOST, 'paris', 1), [{ url: `${URL}1`, depth: 0 }]);
    assert.deepEqual(networks.give(HOST, 'paris', 9), [
      { url: `${URL}2`, depth: 0 },
      { url: `${URL}3`, depth: 2, referrer: URL, sitemap: true },
    ]);
    assert.deepEqual(networks.give(HOST, 'paris', 9), [], 'the last URL has no verdict');
    assert.equal(store.hasUrlFor(HOST), false);
    assert.deepEqual(networks.elsewhere(null, 9).sort(), [`${URL}1`, `${URL}2`, `${URL}3`]);
    const [given] = view('frontier').filter((row) => (row as { url: string }).url === `${URL}1`);
    assert.deepEqual(given, { url: `${URL}1`, state: 'elsewhere', network: 'paris' });
    store.decide(`${URL}1`, { kind: 'new' });
    assert.equal(store.hasUrlFor(HOST), true, 'it has returned');
    store.setOwned(HOST, false);
    assert.deepEqual(networks.give(HOST, 'paris', 9), [], 'a copy');
  });

  it('is queued if the crawl is shared no longer, unless another network has fetched it', () => {
    const urls = [1, 2, 3].map((n) => `http://${HOST}/${n}`);
    const { db, store, view, number } = stage({ urls });
    const elsewhere = { kind: 'elsewhere', network: 'paris' } as const;
    store.decide(urls[1]!, { ...elsewhere, isFinal: false });
    store.decide(urls[2]!, { ...elsewhere, isFinal: true });
    store.enqueue('b.test', { url: 'http://b.test/0', depth: 0 }, 'robots');
    store.setOwned('b.test', false);
    store.enqueue('b.test', { url: 'http://b.test/', depth: 0 }, null);
    store.commit(false);
    leaveNetworks(db);
    assert.equal(store.nextUrl(number, 0), null);
    db.exec("INSERT INTO meta VALUES ('network', 'berlin')");
    leaveNetworks(db);
    assert.deepEqual(
      view('frontier'),
      urls.slice(0, 2).map((url) => ({ url, state: 'queued', network: null })),
    );
    assert.equal(store.nextUrl(number, 0)?.url, urls[0]);
    store.setOwned('b.test', true);
    const { number: copied } = store.host('b.test');
    assert.equal(store.nextUrl(copied, 0)?.url, 'http://b.test/');
  });

  it('that is claimed is queued, finished, at another agent, or none of these', () => {
    const { store, networks, finish } = stage({ urls: [URL, `${URL}1`, `${URL}2`] });
    store.decide(`${URL}1`, { kind: 'elsewhere', network: 'paris', isFinal: false });
    store.decide(`${URL}2`, { kind: 'new' });
    assert.equal(networks.standingOf(URL), 'queued', 'it waits for its verdict');
    assert.equal(networks.standingOf(`${URL}2`), 'queued');
    finish(`${URL}2`);
    assert.equal(networks.standingOf(`${URL}2`), 'finished');
    const others = [`${URL}1`, FIRST.identity, `${URL}unknown`];
    for (const url of others) assert.equal(networks.standingOf(url), 'other', url);
    assert.equal(networks.standingOf('http://b.test/'), 'moved');
    assert.equal(networks.standingOf('no URL'), 'other', 'another program has written it');
    store.setOwned(HOST, false);
    assert.equal(networks.standingOf(URL), 'moved', 'a copy');
  });

  it('that another network has claimed stays until that network has fetched it', () => {
    const { db, store, networks, view } = stage();
    store.decide(URL, { kind: 'elsewhere', network: 'paris', isFinal: false });
    assert.deepEqual(view('frontier'), [{ url: URL, state: 'elsewhere', network: 'paris' }]);
    assert.deepEqual([networks.more(9), networks.elsewhere(null, 9)], [[], [URL]]);
    assert.deepEqual(networks.elsewhere(URL, 9), []);
    store.decide(URL, { kind: 'elsewhere', network: 'paris', isFinal: true });
    const skipped = db.prepare('SELECT reason, network FROM skipped WHERE url = ?').get(URL);
    assert.deepEqual(skipped, { reason: 'elsewhere', network: 'paris' });
    assert.deepEqual(
      networks.unreported(9).filter(({ identity }) => identity === URL),
      [],
      'its network has reported it',
    );
  });

  it('keeps its claim if a verdict is repeated, and loses it if it was given up', () => {
    const { store, number, finish } = stage();
    assert.equal(store.decide(URL, { kind: 'new' }), true);
    assert.equal(store.decide(URL, { kind: 'new' }), true);
    finish(URL);
    assert.equal(store.decide(URL, { kind: 'new' }), true);
    const other = `http://${HOST}/2`;
    store.enqueue(HOST, { url: other, depth: 0 }, null);
    store.skip(number, other, 'scope');
    assert.equal(store.decide(other, { kind: 'new' }), false);
  });
});

function plain(reports: readonly UrlReport[]) {
  return reports.map(({ identity, kind }) => ({ identity, kind }));
}

describe('reports to the other networks', () => {
  it('name settled and skipped URLs, and stay until they are confirmed', () => {
    const other = `http://${HOST}/2`;
    const { store, networks, number, finish } = stage({ urls: [URL, other] });
    store.decide(URL, { kind: 'new' });
    finish(URL);
    store.skip(number, other, 'scope');
    const reports = [
      { identity: URL, kind: 'finished' },
      { identity: other, kind: 'released' },
    ] as const;
    const news = networks.takeNews();
    assert.deepEqual([news.waiting, plain(news.reports)], [[URL, other], reports]);
    assert.deepEqual(new Set(plain(networks.unreported(9))), new Set(reports));
    networks.reported(news.reports.slice(0, 1));
    assert.deepEqual(plain(networks.unreported(9)), [reports[1]]);
    networks.reported([reports[1]]);
    assert.deepEqual(networks.unreported(9), []);
    assert.deepEqual(networks.takeNews(), { waiting: [], reports: [], hasMore: false });
  });

  it('leave out a URL that is queued again, and name it when it has ended again', () => {
    const { store, networks, number, finish } = stage();
    networks.reported(networks.unreported(9));
    store.skip(number, URL, 'blocked');
    store.reopenUrl(HOST, URL);
    assert.deepEqual(networks.unreported(9), []);
    networks.takeNews();
    store.decide(URL, { kind: 'new' });
    finish(URL);
    assert.deepEqual(plain(networks.takeNews().reports), [{ identity: URL, kind: 'finished' }]);
  });

  it('name no queued URL as finished', () => {
    const { db, networks } = stage();
    networks.reported(networks.unreported(9));
    db.exec('INSERT INTO unreported SELECT id FROM urls WHERE state = 0');
    assert.deepEqual(plain(networks.unreported(9)), [{ identity: URL, kind: 'released' }]);
  });

  it('of a host that is taken over name what the last owner may not have reported', () => {
    const { store, networks, finish } = stage({ isOwned: false });
    finish(URL);
    store.enqueue(HOST, { url: `http://${HOST}/2`, depth: 0 }, null);
    assert.deepEqual([networks.unreported(9), networks.more(9)], [[], []]);
    networks.takeNews();
    store.setOwned(HOST, false);
    assert.equal(networks.takeNews().hasMore, false);
    store.setOwned(HOST, true);
    const reports = networks.unreported(9);
    assert.deepEqual(
      new Set(plain(reports)),
      new Set([FIRST, { identity: URL, kind: 'finished' }]),
    );
    assert.deepEqual(networks.more(9).toSorted(), [`http://${HOST}/2`]);
    assert.equal(networks.takeNews().hasMore, true);
  });

  it('of a host that is taken over are read in the same turn', () => {
    const { store, networks } = stage({ isOwned: false });
    store.commit(false);
    store.begin();
    store.setOwned(HOST, true);
    assert.deepEqual(networks.more(9), [URL]);
  });

  it('are read from the store if there are too many to remember', () => {
    const urls = Array.from({ length: 2001 }, (_, i) => `http://${HOST}/u${i}`);
    const { networks } = stage({ urls });
    const { waiting, hasMore } = networks.takeNews();
    assert.deepEqual([waiting.length, hasMore], [2000, true]);
    assert.equal(networks.more(9000).length, 2001);
  });
});
