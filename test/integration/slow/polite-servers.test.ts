// The real command crawls servers that control how they are crawled: by robots.txt with its
// statuses, redirects, Crawl-delay and sitemaps, and by Retry-After. One host repeats itself. The
// log of the servers judges the crawl.
// The slower of these tests; the others are in `test/integration/polite-servers.test.ts`.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { run, Scratch, start, until, untilAsked } from '../cli-process.ts';
import { delayMs, type HostName, web } from '../polite-servers-stage.ts';

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

  test('a crawl reads files of a sitemap index and sitemaps behind redirects as sitemaps', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const of = ['indexed', 'lists'] as const;
    const seeds = [`${web.origin('indexed')}/`];
    const query = await crawl(scratch, of, { seeds, limits: { bodyBytes: 4096 } });
    const agents = await query('SELECT DISTINCT agent FROM pages');
    assert.equal(agents.length, 2, 'each agent has one of the hosts');
    const mapped = ['/moved', '/index', '/list', '/odd', '/listed', '/odd-listed'];
    assert.deepEqual(web.asked('indexed').toSorted(), ['/', '/robots.txt', ...mapped].toSorted());
    const far = ['/robots.txt', '/moved', '/large', '/far-listed'];
    assert.deepEqual(web.asked('lists').toSorted(), far.toSorted());
    const whole = await query("SELECT bytes, error FROM pages WHERE url LIKE '%/large'");
    assert.deepEqual(
      whole.map(({ bytes, error }) => ({ whole: Number(bytes) > 40_000, error })),
      [{ whole: true, error: null }],
    );
  });

  test('a crawl does not fetch pages while robots.txt answers with 500 or 429', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const shut = ['broken', 'limited'] as const;
    const config = await scratch.config(1, {
      seeds: shut.map((name) => `${web.origin(name)}/`),
      politeness: { hostDelayMs: delayMs },
    });
    const launch = start(['launch', config]);
    await until('a request to both hosts', () => shut.every((name) => web.asked(name).length > 0));
    await untilAsked('both hosts recorded as unreachable', async () => {
      const { stdout } = await run('query', config, 'SELECT robots FROM hosts', '--format', 'json');
      return stdout.match(/unreachable/g)?.length === 2;
    });
    await run('stop', config);
    assert.equal((await launch.ended).code, 11);
    for (const name of shut) assert.deepEqual(new Set(web.asked(name)), new Set(['/robots.txt']));
    const { stdout } = await run('query', config, 'SELECT url FROM frontier', '--format', 'json');
    assert.equal(JSON.parse(stdout).length, 2, 'the pages wait in the queue');
  });
});
