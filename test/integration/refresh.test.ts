// A complete crawl is repeated with --refresh, by real processes. The tests check the requests, the
// pages and the archive, and that an interrupted round continues.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './cli-process.ts';
import { crawl, stage } from './refresh-stage.ts';

test('refresh: continues an incomplete crawl instead, and cannot be combined with --fresh', async (context) => {
  const { site, config } = await stage(context, 1);
  const both = await run('launch', config, '--fresh', '--refresh');
  assert.equal(both.code, 2, both.stderr);
  assert.match(await crawl(config, '--refresh'), /not complete and continues; --refresh needs/);
  assert.equal(site.asked.length, 20);
});
