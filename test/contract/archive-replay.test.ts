// A crawl of the synthetic web by a cluster of real processes, replayed from its archives: each
// page comes out of them byte for byte as the server answers it, from the place that the page's
// row names; robots.txt, redirects and errors are there too; the index names every response. So it
// is with each way of packing, and where a crawl is gone on with in the other way.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { type TestContext, test } from 'node:test';
import { run, Scratch, start, until } from '../integration/cli-process.ts';
import { type ArchivedPage, archivedPageColumns, Replay } from '../unit/archive/replay.ts';
import { answerOf } from '../web/answer.ts';
import { type RunningWeb, startWeb } from '../web/server.ts';

const shares = { flaky: 0, slow: 0 };
const size = { hosts: 12, pages: 15, port: 0, net: 71 };
const agents = ['a1', 'a2', 'a3'];

async function stage(t: TestContext) {
  const web = await startWeb({ ...size, shares });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const config = await scratch.config(agents.length, {
    seeds: [web.seed],
    politeness: { hostDelayMs: 20 },
  });
  const pack = (compression: string) => {
    const written = JSON.parse(fs.readFileSync(config, 'utf8')) as object;
    scratch.write('crawl.json', { ...written, archive: { fileBytes: '64KiB', compression } });
  };
  return { web, scratch, config, pack };
}

/** Judges every page of the crawl, and gives how many of them are in files of each suffix. */
async function assertReplayed(replay: Replay, web: RunningWeb, config: string) {
  const sql = `SELECT ${archivedPageColumns} FROM pages`;
  const { stdout } = await run('query', config, sql, '--format', 'json');
  const pages = JSON.parse(stdout) as ArchivedPage[];
  assert.ok(pages.length > 100, `${pages.length} pages`);
  const count = { gz: 0, zst: 0 };
  for (const page of pages) {
    const { hostname, pathname, search } = new URL(page.fetch_url);
    const answer = answerOf(web.web, web.web.hostOf(hostname), `${pathname}${search}`, 0);
    assert.equal(page.status, answer.status, page.url);
    assert.deepEqual(replay.bodyOf(page), Buffer.from(answer.body), page.url);
    count[page.warc_file?.endsWith('.zst') ? 'zst' : 'gz']++;
  }
  const { uris } = replay;
  const visited = new Set(pages.map(({ url }) => new URL(url).origin));
  for (const origin of visited) assert.ok(uris.includes(`${origin}/robots.txt`), origin);
  return count;
}

async function launched(...args: string[]): Promise<void> {
  const { code, stderr } = await run('launch', ...args);
  assert.equal(code, 0, stderr);
}

for (const compression of ['gzip', 'zstd']) {
  test(`archive: a crawl is replayed from it, byte for byte, packed with ${compression}`, async (t) => {
    const { web, scratch, config, pack } = await stage(t);
    pack(compression);
    await launched(config);
    const replay = await Replay.of(scratch.dataDir);
    const { gz, zst } = await assertReplayed(replay, web, config);
    assert.equal(compression === 'gzip' ? zst : gz, 0);
    const requests = web.requests().length;
    assert.equal(replay.uris.length, requests, 'each request that was answered is there once');
  });
}

test('archive: killed, and gone on with in the other packing, a crawl is replayed from both', async (t) => {
  const { web, scratch, config, pack } = await stage(t);
  pack('gzip');
  const first = start(['launch', config]);
  await until('some pages are fetched', () => web.requests().length > 80);
  for (const id of agents) process.kill(scratch.pid(id)!, 'SIGKILL');
  assert.equal((await first.ended).code, 11);
  pack('zstd');
  await launched(config);
  const count = await assertReplayed(await Replay.of(scratch.dataDir), web, config);
  assert.ok(count.gz > 0 && count.zst > 0, JSON.stringify(count));

  // Revisits of the next round point across, to what is in files of either kind.
  pack('gzip');
  await launched(config, '--refresh');
  const replay = await Replay.of(scratch.dataDir);
  const refreshed = await assertReplayed(replay, web, config);
  assert.equal(refreshed.zst, 0, 'every page has its new record');
  assert.ok(replay.revisits >= count.zst, `${replay.revisits} revisits`);
});
