// A complete crawl is repeated with --refresh, by real processes. The tests check the requests, the
// pages and the archive, and that an interrupted round continues.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { run } from './cli-process.ts';
import { archived, crawl, stage } from './refresh-stage.ts';

test('refresh: continues an incomplete crawl instead, and cannot be combined with --fresh', async (context) => {
  const { site, config } = await stage(context, 1);
  const both = await run('launch', config, '--fresh', '--refresh');
  assert.equal(both.code, 2, both.stderr);
  assert.match(await crawl(config, '--refresh'), /not complete and continues; --refresh needs/);
  assert.equal(site.asked.length, 20);
});

test('refresh: a page whose archive file was deleted is stored whole again', async (context) => {
  const { site, scratch, config, audited } = await stage(context, 1);
  const warc = path.join(scratch.dataDir, 'a1', 'warc');
  const oldest = () =>
    fs
      .readdirSync(warc)
      .sort()
      .find((name) => name.endsWith('.warc.gz'))!;
  const conditional = () => site.asked.splice(0).filter((asked) => asked.conditional).length;
  await crawl(config);
  site.asked.length = 0;
  const first = oldest();
  await crawl(config, '--refresh');
  assert.equal(conditional(), 16);
  const revisits = { 'revisit server-not-modified': 16, 'revisit identical-payload-digest': 4 };
  assert.deepEqual(await archived(scratch.dataDir), { response: 20, ...revisits });

  // The file of the revisits stays, but what they refer to is no longer there.
  fs.rmSync(path.join(warc, first));
  const second = oldest();
  await crawl(config, '--refresh');
  assert.equal(conditional(), 0);
  fs.rmSync(path.join(warc, second));
  assert.deepEqual(await archived(scratch.dataDir), { response: 20 });

  await crawl(config, '--refresh');
  assert.equal(conditional(), 16);
  assert.deepEqual(await archived(scratch.dataDir), { response: 20, ...revisits });
  await audited();
});

test('refresh: pages of a lost agent are stored whole again', async (context) => {
  const { site, scratch, config, select, audited } = await stage(context, 2);
  await crawl(config);
  const ofLost = "SELECT count(*) AS n FROM pages WHERE warc_file LIKE 'a2-%'";
  const [lost] = await select(ofLost);
  fs.rmSync(path.join(scratch.dataDir, 'a2'), { recursive: true });
  site.asked.length = 0;
  await crawl(config, '--refresh');
  assert.ok(Number(lost!.n) > 0);
  const kept = await archived(scratch.dataDir);
  assert.equal(kept.response, 20);
  assert.equal(
    site.asked.filter(({ status }) => status === 304).length,
    kept['revisit server-not-modified'] ?? 0,
  );
  await audited();
});
