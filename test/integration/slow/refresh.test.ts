// A complete crawl is repeated with --refresh, by real processes. The tests check the requests, the
// pages and the archive, and that an interrupted round continues.
// The slower of these tests; the others are in `test/integration/refresh.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { call, run, start, until } from '../cli-process.ts';
import { type Asked, archived, crawl, HOSTS, stage } from '../refresh-stage.ts';

const byStatus = (asked: readonly Asked[]) => {
  const counts: Record<string, number> = {};
  for (const { status, conditional } of asked) {
    const what = `${status}${conditional ? ' asked by' : ''}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
};

test('refresh: requests every page once and reads only pages that have changed', async (context) => {
  const { site, scratch, config, select, audited } = await stage(context, 3);
  await crawl(config, '--agents', '2');
  assert.deepEqual(byStatus(site.asked), { 200: 20 });
  const digests = 'SELECT url, digest FROM pages ORDER BY url';
  const states = 'SELECT status, unchanged, count(*) AS n FROM pages GROUP BY 1, 2';
  const before = await select(digests);
  const archives = 'SELECT DISTINCT host, substr(warc_file, 1, 2) AS agent FROM pages ORDER BY 1';
  const former = await select(archives);
  site.asked.length = 0;
  // A third agent takes over some hosts. It archives their five pages whole.
  await crawl(config, '--refresh');
  const moved = (await select(archives)).filter((row, n) => row.agent !== former[n]!.agent).length;
  const counts = (of: Record<string, number>) =>
    Object.fromEntries(Object.entries(of).filter(([, n]) => n > 0));
  const asked = counts({ '304 asked by': 16 - 4 * moved, 200: 4 + 4 * moved });
  assert.deepEqual(byStatus(site.asked), asked);
  assert.deepEqual(await select(digests), before);
  assert.deepEqual(await select(states), [{ status: 200, unchanged: 1, n: 20 }]);
  const records = counts({
    response: 20 + 5 * moved,
    'revisit server-not-modified': 16 - 4 * moved,
    'revisit identical-payload-digest': 4 - moved,
  });
  assert.deepEqual(await archived(scratch.dataDir), records);

  site.asked.length = 0;
  site.version = 2;
  await crawl(config, '--refresh');
  assert.deepEqual(byStatus(site.asked), { '304 asked by': 12, '200 asked by': 4, 200: 8 });
  assert.deepEqual(await select(states), [
    { status: 200, unchanged: 0, n: 8 },
    { status: 200, unchanged: 1, n: 16 },
  ]);
  assert.deepEqual(await archived(scratch.dataDir), {
    response: 28 + 5 * moved,
    'revisit server-not-modified': 28 - 4 * moved,
    'revisit identical-payload-digest': 8 - moved,
  });
  await audited();
});

test('refresh: an interrupted round continues as the same round', async (context) => {
  const { site, scratch, config, select, audited } = await stage(context, 2, 40);
  await crawl(config);
  const written = JSON.parse(fs.readFileSync(config, 'utf8'));
  scratch.write('crawl.json', { ...written, politeness: { hostDelayMs: 250 } });
  const urls = new Set(site.asked.map(({ url }) => url));
  assert.equal(urls.size, 164);
  site.asked.length = 0;
  const first = start(['launch', config, '--refresh']);
  await until('some pages are requested again', () => site.asked.length >= 20);
  await run('stop', config);
  const stopped = await first.ended;
  assert.equal(stopped.code, 11, stopped.stderr);
  const note = () =>
    JSON.parse(fs.readFileSync(path.join(scratch.dataDir, 'complete.json'), 'utf8'));
  const { crawl: word, round } = note();
  assert.equal(word, 'refreshing');
  // Each URL has its last answer, from this round or from the previous one.
  const answers = 'SELECT round, queued_again, count(*) AS n FROM pages GROUP BY 1, 2 ORDER BY 1';
  const [former, anew, ...more] = await select(answers);
  assert.deepEqual(more, []);
  assert.deepEqual([former!.round, former!.queued_again], [0, 1]);
  assert.deepEqual([anew!.round, anew!.queued_again], [round, 0]);
  assert.equal(Number(former!.n) + Number(anew!.n), 164);

  const asked = site.asked.length;
  const second = start(['launch', config]);
  await until('more pages are requested again', () => site.asked.length >= asked + 30);
  process.kill(scratch.pid('a2')!, 'SIGKILL');
  const { code, stderr } = await second.ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(new Set(site.asked.map(({ url }) => url)), urls);
  // Allows twice the threads of the dead agent, and the open requests at the stop.
  assert.ok(site.asked.length <= 164 + 16 + 16, `${site.asked.length} requests`);
  assert.deepEqual(await select('SELECT DISTINCT round FROM pages'), [{ round }]);
  assert.equal(note().round, round);
  await audited();
  // It starts no process, so it is called in this one.
  const { stderr: said } = await call(['launch', config]);
  assert.match(said, /the crawl is complete already; --refresh requests/);
});

test('refresh: pages that a block or a narrowed scope excludes keep their last answer', async (context) => {
  const { site, scratch, config, select, audited } = await stage(context, 2);
  const blocked = HOSTS[3]!;
  const asks = () => site.asked.filter(({ url }) => url.startsWith(`${blocked}/`)).length;
  const gated = async (args: readonly string[], meanwhile: () => Promise<void> | void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    site.gate = promise;
    const launched = start(['launch', config, ...args]);
    await meanwhile();
    resolve();
    const { code, stderr } = await launched.ended;
    assert.equal(code, 0, stderr);
  };
  await gated([], async () => {
    await until('the host is fetched', () => asks() === 5);
    const block = await run('block', config, blocked);
    assert.equal(block.code, 0, block.stderr);
  });
  const answers = 'SELECT url, digest, queued_again, skipped FROM pages ORDER BY url';
  const before = await select(answers);
  assert.equal(before.length, 20);

  const seeds = [`http://${HOSTS[0]}:${site.port}/`];
  await scratch.config(2, { seeds, scope: { hosts: ['*'], exclude: ['/1$'] } });
  site.asked.length = 0;
  await gated(['--refresh'], async () => {
    await until('pages are requested again', () => site.asked.length >= 3);
    // The successor of a2 has the last answers, too.
    process.kill(scratch.pid('a2')!, 'SIGKILL');
  });
  assert.equal(asks(), 0);
  assert.ok(!site.asked.some(({ url }) => url.endsWith('/1')));
  const isBlocked = ({ url }: Record<string, unknown>) => String(url).includes(`/${blocked}:`);
  const skipped = (row: Record<string, unknown>) =>
    isBlocked(row) ? 'blocked' : String(row.url).endsWith('/1') ? 'scope' : null;
  const kept = before.map((row) => ({ ...row, skipped: skipped(row) }));
  assert.deepEqual(await select(answers), kept);
  const reasons = 'SELECT reason, count(*) AS n FROM skipped GROUP BY 1 ORDER BY 1';
  assert.deepEqual(await select(reasons), [
    { reason: 'blocked', n: 5 },
    { reason: 'scope', n: 3 },
  ]);
  await audited();

  await scratch.config(2, { seeds });
  const off = await run('block', config, blocked, '--off');
  assert.equal(off.code, 0, off.stderr);
  site.asked.length = 0;
  await crawl(config);
  assert.equal(site.asked.length, 8);
  assert.deepEqual(await select(answers), before);
  await audited();
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
