// A cluster of real processes crawls the synthetic web, is stopped and continues, and the log of the
// web server is judged. The tests in `test/chaos/process-*.test.ts` judge clusters whose agents are
// killed, suspended or added.

import { test } from 'node:test';
import { start } from '../cli-process.ts';
import { assertCode, assertWhole, crawlOf, size } from '../cluster-stage.ts';

test('a stopped crawl is resumed and fetches every page', async (t) => {
  const crawl = await crawlOf(t, 53, 2);
  const launch = start(['launch', crawl.config]);
  await crawl.served(25);
  launch.child.kill('SIGTERM');
  assertCode(await launch.ended, 11);
  assertCode(await start(['launch', crawl.config]).ended, 0);
  // Requests that were open at the stop may be repeated: one per host.
  assertWhole(crawl, size.hosts);
});
