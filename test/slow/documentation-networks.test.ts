// Several networks crawl real documentation from the same seeds. Together they must fetch the URLs
// that one cluster alone fetches, and nginx's log must show each URL once.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { RedisProcess, withoutRedis } from '../contract/networks/redis-process.ts';
import {
  assertAccounted,
  crawlWithUbiring,
  type FinishedCrawl,
  siteNeeds,
  startSite,
  ubiring,
} from './documentation-site.ts';
import { has } from './programs.ts';

const pagesMin = 1_200;
const fetchedUrls = (crawl: FinishedCrawl) =>
  crawl.query<{ url: string }>('SELECT fetch_url AS url FROM pages ORDER BY url');

for (const names of [
  ['berlin', 'paris'],
  ['berlin', 'paris', 'rome'],
]) {
  test(`documentation: ${names.length} networks fetch each page once`, {
    timeout: 600_000,
    skip: withoutRedis,
  }, async (t) => {
    if (!has(t, siteNeeds)) return;
    const directory = mkdtempSync(join(tmpdir(), 'ubiring-documentation-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const within = (name: string) => {
      const inside = join(directory, name);
      mkdirSync(inside);
      return inside;
    };
    const site = await startSite(t, within('site'));
    const alone = await fetchedUrls(await crawlWithUbiring(within('alone'), site.seeds));
    assert.ok(alone.length >= pagesMin, `${alone.length} pages`);
    const askedBefore = site.asked().length;

    const redis = await RedisProcess.start();
    const networks = Object.fromEntries(
      names.map((name) => [name, `redis://127.0.0.1:${redis.port}/0`]),
    );
    const crawls = await Promise.all(
      names.map((network) =>
        crawlWithUbiring(within(network), site.seeds, {
          dedup: { mode: 'redis', network, networks },
        }),
      ),
    );
    const fetched = (await Promise.all(crawls.map(fetchedUrls))).flat();
    const sorted = fetched.toSorted((a, b) => (a.url < b.url ? -1 : 1));
    assert.deepEqual(sorted, alone);
    const asked = site.asked().slice(askedBefore);
    const askedPages = asked.filter((place) => !place.endsWith('/robots.txt'));
    const shares = await Promise.all(
      crawls.map(async (crawl) => (await fetchedUrls(crawl)).length),
    );
    t.diagnostic(`pages: ${shares.join(', ')}`);
    await assertAccounted(
      crawls,
      askedPages,
      fetched.map(({ url }) => url),
    );
    const { stdout } = await ubiring('audit', ...crawls.map(({ config }) => config), '--json');
    const { ok, all } = JSON.parse(stdout);
    assert.deepEqual([ok, all.overlap.count, all.missing.count], [true, 0, 0]);
  });
}
