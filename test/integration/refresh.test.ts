// A complete crawl that is run again with --refresh, on real processes: what the server is asked,
// what becomes of pages and archive, and that a round goes on where it was stopped or killed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './cli-process.ts';
import { crawl, stage } from './refresh-stage.ts';

test('refresh: is not for a crawl that is not complete, nor together with --fresh', async (context) => {
  const { site, config } = await stage(context, 1);
  const both = await run('launch', config, '--fresh', '--refresh');
  assert.equal(both.code, 2, both.stderr);
  assert.match(await crawl(config, '--refresh'), /not complete and continues; --refresh needs/);
  assert.equal(site.asked.length, 20);
});
