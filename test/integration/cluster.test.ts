// Clusters of real processes on the synthetic web, judged by the web server's log: whatever happens
// to the agents, no page is asked for that must not be, no two requests are at a host at once and
// none comes too soon. Where no agent dies, every page is fetched, too.

import { describe, test } from 'node:test';
import { start } from './cli-process.ts';
import { assertCode, assertWhole, crawlOf } from './cluster-stage.ts';

describe('clusters', { concurrency: 2 }, () => {
  test('three agents fetch every page once', async (t) => {
    const crawl = await crawlOf(t, 51, 3);
    assertCode(await start(['launch', crawl.config]).ended, 0);
    assertWhole(crawl, 0);
  });
});
