// Clusters of real processes crawl the synthetic web, and the log of the web server is judged. No
// forbidden page may be requested, no host may have two requests at a time, and each delay must be
// kept, even if agents fail. If no agent is killed, every page must be fetched.

import { describe, test } from 'node:test';
import { patient, start } from './cli-process.ts';
import { assertCode, assertWhole, crawlOf } from './cluster-stage.ts';

describe('clusters', { concurrency: 2 }, () => {
  test('three agents fetch every page once', async (t) => {
    const crawl = await crawlOf(t, 51, 3, [], patient);
    assertCode(await start(['launch', crawl.config]).ended, 0);
    assertWhole(crawl, 0);
  });
});
