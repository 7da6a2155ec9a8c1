// The real command crawls servers that control how they are crawled: by robots.txt with its
// statuses, redirects, Crawl-delay and sitemaps, and by Retry-After. One host repeats itself. The
// log of the servers judges the crawl.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { run, Scratch } from './cli-process.ts';
import { blurMs } from './host-servers.ts';
import { delayMs, type HostName, names, web } from './polite-servers-stage.ts';

describe('polite servers', () => {
  before(() => web.start());
  after(() => web.stop());

  async function crawl(scratch: Scratch, of: readonly HostName[], more: object = {}) {
    const seeds = of.map((name) => `${web.origin(name)}/${name === 'trap' ? '0' : ''}`);
    const config = await scratch.config(2, {
      seeds,
      scope: { hosts: of.map((name) => web.addressOf(name)) },
      limits: { stalePages: 60, depthPerHost: 200, repeatedSegments: 3 },
      politeness: { hostDelayMs: delayMs },
      archive: { warc: false },
      ...more,
    });
    const { code, stderr } = await run('launch', config);
    assert.equal(code, 0, stderr);
    return async (sql: string) => {
      const { stdout } = await run('query', config, sql, '--format', 'json');
      return JSON.parse(stdout) as Record<string, unknown>[];
    };
  }

  test('a crawl obeys robots.txt, Crawl-delay and Retry-After, reads sitemaps and leaves traps', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const others: readonly HostName[] = ['broken', 'limited', 'indexed', 'lists'];
    const finite = names.filter((name) => !others.includes(name));
    const query = await crawl(scratch, finite, { sitemaps: [`${web.origin('told')}/told.xml`] });

    for (const name of ['gone', 'forbidden', 'circle'] as const) {
      assert.deepEqual(new Set(web.asked(name)), new Set(['/robots.txt', '/', '/a', '/b']), name);
    }
    assert.deepEqual(web.asked('slow'), ['/robots.txt', '/', '/a']);
    web.assertPolite('slow', 400);
    assert.equal(web.asked('moved').filter((path) => path.startsWith('/robots')).length, 6);
    assert.ok(!web.asked('moved').includes('/b'), 'the rules after the fifth redirect are obeyed');
    const [refused] = web.log.filter(({ host, path }) => host === 'busy' && path === '/a');
    const next = web.log.find(({ host, start }) => host === 'busy' && start > refused!.start)!;
    assert.ok(
      next.start - refused!.end >= 1000 - blurMs,
      'Retry-After delays the next request to the host',
    );
    assert.equal(web.asked('busy').filter((path) => path === '/a').length, 2);

    const wanted = ['/index.xml', '/list', '/1.xml.gz', '/feed', '/packed', '/fed', '/listed'];
    for (const path of wanted) assert.ok(web.asked('mapped').includes(path), path);
    assert.deepEqual(web.asked('told').toSorted(), ['/', '/robots.txt', '/told.xml', '/x']);
    const [packed] = await query("SELECT referrer FROM pages WHERE url LIKE '%/packed'");
    assert.equal(packed!.referrer, `${web.origin('mapped')}/1.xml.gz`);

    const trapped = await query("SELECT url FROM skipped WHERE reason = 'trap'");
    assert.ok(trapped.some(({ url }) => String(url).startsWith(web.origin('trap'))));
    assert.equal(web.asked('repeating').at(-1), '/a/b/a/b/a/b/');
    const events = await query("SELECT detail FROM events WHERE kind = 'trap'");
    assert.ok(events.length > 0, 'an event records the trap');
    for (const name of finite) web.assertPolite(name, delayMs);
  });

  test('a crawl can start from a sitemap in the config', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const before = web.asked('told').length;
    const map = `${web.origin('told')}/told.xml`;
    const query = await crawl(scratch, [], { sitemaps: [map], scope: {} });
    assert.deepEqual(web.asked('told').slice(before), ['/robots.txt', '/told.xml', '/x']);
    const pages = await query('SELECT url, referrer FROM pages ORDER BY url');
    const found = { url: `${web.origin('told')}/x`, referrer: map };
    assert.deepEqual(pages, [{ url: map, referrer: null }, found]);
  });

  test('sitemaps are read if the pages to crawl are few', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const before = web.asked('indexed').length;
    await crawl(scratch, ['indexed'], { scope: { include: ['listed$'] } });
    const asked = ['/robots.txt', '/', '/moved', '/index', '/list', '/odd'];
    const listed = ['/listed', '/odd-listed'];
    assert.deepEqual(
      web.asked('indexed').slice(before).toSorted(),
      [...asked, ...listed].toSorted(),
    );
  });
});
