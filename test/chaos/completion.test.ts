// When a crawl is complete, with real processes: never while a URL waits, is on its way or is held
// by an unresponsive agent, and soon after the last page is done. Cases that need messages in an
// exact order are in test/simulation/.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { run } from '../integration/cli-process.ts';
import { Cluster, type ClusterOptions } from './harness.ts';
import { type Answering, type Site, startSite } from './harness-site.ts';

interface Crawl {
  readonly site: Site;
  readonly cluster: Cluster;
  /** For each agent the number of a host that it owns. */
  readonly hostOf: Readonly<Record<string, number>>;
}

const link = (...urls: readonly string[]) => ({
  body: urls.map((url) => `<a href="${url}">on</a>`).join(''),
});
/** Number of hosts among which each agent owns one. */
const hostsMax = 60;

/** A cluster on one site. `answering` receives the owner of the requested host. */
async function crawlOf(
  t: TestContext,
  answering: (
    id: string,
    target: string,
    earlier: number,
    crawl: () => Crawl,
  ) => ReturnType<Answering>,
  options: Partial<ClusterOptions> & { first?: readonly string[] } = {},
): Promise<Crawl> {
  let crawl: Crawl | undefined;
  const { agents = 2, first = ['a1'], config, ...more } = options;
  const idOf = (host: number) =>
    Object.entries(crawl!.hostOf).find(([, n]) => n === host)?.[0] ?? 'nobody';
  const site = await startSite((host, target, earlier) =>
    answering(idOf(host), target, earlier, () => crawl!),
  );
  t.after(() => site.stop());
  const web = { hosts: 1, pages: 1 };
  const cluster = await Cluster.make(t, { web, agents, ...more });
  const names = Array.from({ length: hostsMax }, (_, n) => new URL(site.origin(n)).hostname);
  const { stdout } = await run('owner', cluster.config, ...names);
  const owners = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).order[0] as string);
  const hostOf = Object.fromEntries(cluster.ids.map((id) => [id, owners.indexOf(id)]));
  const seeds = first.map((id) => `${site.origin(hostOf[id]!)}/`);
  const written = JSON.parse(fs.readFileSync(cluster.config, 'utf8'));
  fs.writeFileSync(cluster.config, JSON.stringify({ ...written, seeds, ...config }));
  crawl = { site, cluster, hostOf };
  return crawl;
}

/** Asserts that all agents that ended by themselves ended with 0. */
async function assertEnds({ cluster }: Crawl): Promise<void> {
  const { ends } = await cluster.finish(40_000);
  for (const { id, code, signal, stderr } of ends) {
    if (signal !== 'SIGKILL') assert.equal(code, 0, `${id}: ${stderr}`);
  }
}

function gate() {
  let open: (value: { body: string }) => void = () => {};
  const held = new Promise<{ body: string }>((resolve) => {
    open = resolve;
  });
  return { held, open: (body = 'page') => open({ body }) };
}

/** Enough time for a crawl that could end to end. */
const settledMs = 1000;

describe('completion', { concurrency: 2 }, () => {
  test('completion: a crawl without seeds is refused, and the message names the key', async (t) => {
    const crawl = await crawlOf(t, () => ({}), { config: { seeds: [] } });
    const ended = await crawl.cluster.launch('a1').ended;
    assert.equal(ended.code, 4);
    assert.match(ended.stderr, /seeds/);
  });

  test('completion: the crawl ends without a page if robots.txt forbids all seeds', async (t) => {
    const crawl = await crawlOf(
      t,
      (_, target) => {
        return { body: target === '/robots.txt' ? 'User-agent: *\nDisallow: /\n' : 'page' };
      },
      { first: ['a1', 'a2'] },
    );
    await crawl.cluster.startAll();
    await assertEnds(crawl);
    for (const id of ['a1', 'a2']) {
      const { pages, skipped } = crawl.cluster.state(id).state();
      assert.deepEqual([pages, skipped.map(({ reason }) => reason)], [[], ['robots']]);
      assert.deepEqual(crawl.site.requests(crawl.hostOf[id]!, '/'), []);
    }
  });

  test('completion: a single agent ends when its last page links only to known URLs', async (t) => {
    const crawl = await crawlOf(
      t,
      (_, target) => (target === '/robots.txt' ? {} : link('/', '/last', '/#same')),
      { agents: 1 },
    );
    await crawl.cluster.startAll();
    await assertEnds(crawl);
    assert.equal(crawl.site.requests(crawl.hostOf.a1!, '/last').length, 1);
  });

  test('completion: no end while a URL is on its way to an unresponsive agent', async (t) => {
    const crawl = await crawlOf(
      t,
      async (id, target, _, self) => {
        if (target === '/robots.txt' || id !== 'a1') return {};
        self().cluster.suspend('a2');
        return link(`${self().site.origin(self().hostOf.a2!)}/`);
      },
      { suspectAfterMs: 4000 },
    );
    const { cluster, site, hostOf } = crawl;
    await cluster.startAll();
    await cluster.until('the page is requested', () => site.requests(hostOf.a1!, '/').length > 0);
    await pause(settledMs);
    assert.equal(cluster.run('a1').end, null, 'its link is still on its way');
    cluster.resume('a2');
    await assertEnds(crawl);
    assert.equal(site.requests(hostOf.a2!, '/').length, 1);
  });

  test('completion: no end while a retry is due; a host that was down is fetched', async (t) => {
    const crawl = await crawlOf(
      t,
      (id, target, earlier) => {
        // A client repeats a request at once if a kept connection is closed.
        if (target === '/robots.txt')
          return id === 'a1' ? { headers: { connection: 'close' } } : {};
        if (id === 'a1') return earlier === 0 ? 'cut' : { body: 'back' };
        const later = { status: id === 'a2' ? 503 : 429, headers: { 'retry-after': '2' } };
        return earlier === 0 ? later : { body: 'back' };
      },
      { agents: 3, first: ['a1', 'a2', 'a3'] },
    );
    const { cluster, site, hostOf } = crawl;
    await cluster.startAll();
    await cluster.until('the first answers', () => site.requests(hostOf.a3!, '/').length > 0);
    await pause(settledMs);
    assert.equal(cluster.living().length, 3, 'retries are due');
    await assertEnds(crawl);
    for (const id of cluster.ids) {
      const [first, second, ...more] = site.requests(hostOf[id]!, '/');
      assert.deepEqual(more, []);
      assert.ok(second! - first! >= (id === 'a1' ? 10_000 : 2_000) - 1, `${id} came too soon`);
    }
  });

  test('completion: no end during a politeness delay before the last page', async (t) => {
    const crawl = await crawlOf(t, (_, target) => (target === '/' ? link('/last') : {}), {
      delayMs: 2000,
    });
    await crawl.cluster.startAll();
    await assertEnds(crawl);
    assert.equal(crawl.site.requests(crawl.hostOf.a1!, '/last').length, 1);
  });

  test('completion: the successor of a dead agent fetches the only remaining URL', async (t) => {
    const last = gate();
    const crawl = await crawlOf(
      t,
      (_, target, earlier) => {
        if (target === '/robots.txt') return {};
        return earlier === 0 ? last.held : { body: 'page' };
      },
      { agents: 3, first: ['a2'] },
    );
    const { cluster, site, hostOf } = crawl;
    await cluster.startAll();
    await cluster.until('the request arrives', () => site.requests(hostOf.a2!, '/').length > 0);
    await cluster.kill('a2');
    await assertEnds(crawl);
    assert.equal(site.requests(hostOf.a2!, '/').length, 2);
    last.open();
  });

  test('completion: an agent that wakes after the end sends no requests and ends', async (t) => {
    const last = gate();
    const crawl = await crawlOf(
      t,
      (_, target, earlier) => {
        if (target === '/robots.txt') return {};
        return target === '/' && earlier === 0 ? last.held : link('/more');
      },
      { agents: 3, first: ['a2'] },
    );
    const { cluster, site, hostOf } = crawl;
    await cluster.startAll();
    await cluster.until('the request arrives', () => site.requests(hostOf.a2!, '/').length > 0);
    cluster.suspend('a2');
    await cluster.until('the others end', () => cluster.living().length === 1);
    const before = site.requests(hostOf.a2!).length;
    last.open(link('/more').body);
    cluster.resume('a2');
    await assertEnds(crawl);
    assert.equal(site.requests(hostOf.a2!).length, before);
  });

  test('completion: URLs for a dead agent go to its successor', async (t) => {
    const page = gate();
    const crawl = await crawlOf(
      t,
      (id, target) => {
        if (target === '/robots.txt') return {};
        return id === 'a1' ? page.held : { body: 'page' };
      },
      { agents: 3 },
    );
    const { cluster, site, hostOf } = crawl;
    await cluster.startAll();
    await cluster.until('the request arrives', () => site.requests(hostOf.a1!, '/').length > 0);
    await cluster.kill('a2');
    page.open(link(`${site.origin(hostOf.a2!)}/`).body);
    await assertEnds(crawl);
    assert.equal(site.requests(hostOf.a2!, '/').length, 1);
  });

  test('completion: an endless host is crawled up to its limit, the others are done', async (t) => {
    const pagesPerHost = 50;
    const crawl = await crawlOf(
      t,
      (id, target) => {
        if (target === '/robots.txt') return {};
        const n = Number(target.slice(1) || 0);
        return id === 'a1' ? link(`/${2 * n + 1}`, `/${2 * n + 2}`) : { body: 'page' };
      },
      { first: ['a1', 'a2'], delayMs: 20, config: { limits: { pagesPerHost } } },
    );
    await crawl.cluster.startAll();
    await assertEnds(crawl);
    const { pages, skipped, frontier } = crawl.cluster.state('a1').state();
    assert.deepEqual([pages.length, frontier], [pagesPerHost, []]);
    assert.ok(skipped.length > 0 && skipped.every(({ reason }) => reason === 'pages'));
    const [early] = crawl.site.requests(crawl.hostOf.a2!, '/');
    const trap = crawl.site.requests(crawl.hostOf.a1!);
    assert.ok(early! < trap[trap.length >> 1]!, 'the other host did not wait for the endless one');
  });

  test('completion: a seed added after the end starts a crawl of the new URLs only', async (t) => {
    const crawl = await crawlOf(t, () => ({ body: 'page' }));
    const { cluster, site, hostOf } = crawl;
    await cluster.startAll();
    await assertEnds(crawl);
    await cluster.launch('a1').ended;
    assert.match(cluster.run('a1').stderr, /complete already/);
    const config = JSON.parse(fs.readFileSync(cluster.config, 'utf8'));
    config.seeds.push(`${site.origin(hostOf.a2!)}/`);
    fs.writeFileSync(cluster.config, JSON.stringify(config));
    await cluster.startAll();
    await assertEnds(crawl);
    assert.equal(site.requests(hostOf.a1!, '/').length, 1);
    assert.equal(site.requests(hostOf.a2!, '/').length, 1);
  });
});
