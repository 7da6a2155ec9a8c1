// Inputs as large as the web, the config or another agent can make them. No turn takes more than
// 100 milliseconds of work, no agent is suspected meanwhile, and nothing is lost between the
// pieces. The work is counted (`work.ts`), so the speed of the machine does not matter.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Cluster, SUSPECT_MS } from '../cluster.ts';

const TWO = ['a1', 'a2'];
const ROOT = 'http://h0.test/p0';

/** One page with the given number of links, spread over the given number of hosts. */
function starWeb(links: number, hosts: number): Map<string, string[]> {
  const urls = Array.from({ length: links }, (_, i) => `http://h${i % hosts}.test/x${i}`);
  return new Map([[ROOT, urls], ...urls.map((url) => [url, []] as [string, string[]])]);
}

/** URLs known to some agent as their owner, or in an outbox. */
function known(c: Cluster): Set<string> {
  const urls = new Set<string>();
  for (const { db } of c.disks.values()) {
    const all = db.prepare<[], string>(
      `SELECT url FROM frontier UNION ALL SELECT url FROM pages UNION ALL SELECT url FROM skipped
       UNION ALL SELECT url FROM outbox`,
    );
    for (const url of all.pluck().all()) urls.add(url);
  }
  return urls;
}

function missing(c: Cluster, expected: Iterable<string>): string[] {
  const urls = known(c);
  return [...expected].filter((url) => !urls.has(url));
}

function removals(c: Cluster): unknown[] {
  return [...c.agents.keys()].flatMap((id) =>
    c.snapshot(id).recent.filter(({ kind }) => kind === 'suspect' || kind === 'rejoin'),
  );
}

describe('the work of a turn', () => {
  it('a page of 30,000 links is routed in pieces, and no agent is suspected', () => {
    const web = starWeb(30_000, 6);
    const c = new Cluster({ ids: TWO, web, seeds: [ROOT], delayMs: 500 });
    c.startAll();
    c.run(3000);
    assert.deepEqual(missing(c, web.keys()), []);
    assert.deepEqual([c.heavy, removals(c)], [[], []]);
  });

  it('a page is recorded with its last piece; after an earlier kill it is requested again', () => {
    const c = new Cluster({ ids: ['a1'], web: starWeb(200, 4), seeds: [ROOT], sliceUnits: 20 });
    c.startAll();
    c.runUntil('some links are routed', () => known(c).size > 60);
    assert.ok(known(c).size < 200);
    c.kill('a1');
    c.start('a1');
    c.runToEnd();
    assert.equal(c.fetched().size, 201);
    assert.equal(c.fetched().get(ROOT), 2);
    assert.deepEqual(c.impolite(), []);
  });

  it('no link is lost when a joining agent takes over hosts between two pieces of a page', () => {
    const c = new Cluster({
      ids: ['a1', 'a2', 'a3'],
      web: starWeb(300, 12),
      seeds: [ROOT],
      sliceUnits: 20,
    });
    c.start('a1');
    c.start('a2');
    c.runUntil('some links are routed', () => known(c).size > 60);
    assert.ok(known(c).size < 250);
    c.start('a3');
    c.runToEnd();
    assert.equal(c.fetched().size, 301);
    assert.deepEqual(
      [...c.fetched().values()].filter((times) => times > 1),
      [],
    );
    assert.deepEqual(c.impolite(), []);
  });

  it('40,000 seeds are routed in pieces, and no agent is suspected', () => {
    const urls = Array.from({ length: 40_000 }, (_, i) => `http://h${i % 5}.test/x${i}`);
    const c = new Cluster({ ids: TWO, web: new Map(), seeds: urls, delayMs: 60_000 });
    c.startAll();
    c.run(5000);
    assert.deepEqual([c.heavy, removals(c)], [[], []]);
    assert.deepEqual(missing(c, urls), []);
  });

  it('seeds are routed completely although an agent is reborn and another restarts', () => {
    const web = starWeb(120, 6);
    const seeds = [...web.keys()];
    const c = new Cluster({ ids: TWO, web, seeds, sliceUnits: 1 });
    c.startAll();
    c.runUntil('some seeds are routed', () => known(c).size > 0);
    assert.ok(known(c).size < 100);
    c.stall('a1', SUSPECT_MS);
    c.kill('a2');
    c.start('a2');
    c.runToEnd();
    assert.equal(c.fetched().size, 121);
  });

  it('an outbox of 30,000 URLs is routed in pieces when their owner dies', () => {
    const web = starWeb(30_000, 6);
    const c = new Cluster({ ids: TWO, web, seeds: [ROOT], delayMs: 500, backups: 0 });
    c.lose = (_from, _to, { type }) => type === 'URLS';
    c.startAll();
    c.run(2000);
    const [alone] = c.order('h0.test', TWO);
    const { store } = c.agents.get(alone!)!;
    assert.ok(store.outboxCount() > 7000);
    c.kill(TWO.find((id) => id !== alone)!);
    c.run(4000);
    assert.equal(store.outboxCount(), 0);
    assert.deepEqual(missing(c, web.keys()), []);
    assert.deepEqual(c.heavy, []);
  });

  it('a host of 25,000 URLs that has moved to another agent is deleted in pieces', () => {
    const THREE = ['a1', 'a2', 'a3'];
    const web = starWeb(25_000, 1);
    const c = new Cluster({ ids: THREE, web, seeds: [ROOT], delayMs: 5000 });
    const far = c.order('h0.test', THREE)[2]!;
    c.start(far);
    c.runUntil(
      'all links are known',
      () => (c.agents.get(far)?.store.owned().queued ?? 0) > 24_900,
      70_000,
    );
    const { store } = c.agents.get(far)!;
    for (const id of THREE) if (id !== far) c.start(id);
    c.runUntil('the host is deleted there', () => !store.hosts().includes('h0.test'), 60_000);
    c.run(1000);
    const left = c.disks.get(far)!.db.prepare('SELECT count(*) FROM urls').pluck();
    assert.deepEqual([left.get(), c.heavy, removals(c)], [0, [], []]);
  });

  it('with 12,000 hosts, no turn is too long when an agent dies and returns', () => {
    const links = Array.from({ length: 12_000 }, (_, i) => `http://h${i}.test:25/`);
    // Pages of one host keep the crawl running for the whole test.
    const pages = starWeb(500, 1).get(ROOT)!;
    const web = new Map<string, string[]>([
      [ROOT, [...pages, ...links]],
      ...pages.map((url) => [url, []] as [string, string[]]),
    ]);
    const c = new Cluster({ ids: TWO, web, seeds: [ROOT], delayMs: 100 });
    c.startAll();
    c.run(4000);
    for (const id of TWO) {
      assert.equal(c.agents.get(id)!.store.hosts().length, 12_000);
      assert.equal(c.snapshot(id).copyLag, 0);
    }
    const [living, dead] = c.order('h0.test', TWO);
    c.kill(dead!);
    c.run(2 * SUSPECT_MS);
    assert.deepEqual([c.snapshot(living!).members, c.heavy], [[], []]);
    c.start(dead!);
    c.run(2 * SUSPECT_MS);
    assert.equal(c.snapshot(living!).members.length, 1);
    assert.deepEqual(c.heavy, []);
  });
});
