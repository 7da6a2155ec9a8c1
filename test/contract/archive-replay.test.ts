// A crawl of the synthetic web by a cluster of real processes, replayed from its archives: each
// page comes out of them byte for byte as the server answers it, from the place that the page's
// row names; robots.txt, redirects and errors are there too; the index names every response.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, Scratch } from '../integration/cli-process.ts';
import { type ArchivedPage, archivedPageColumns, Replay } from '../unit/archive/replay.ts';
import { answerOf } from '../web/answer.ts';
import { startWeb } from '../web/server.ts';

const shares = { flaky: 0, slow: 0 };
const size = { hosts: 12, pages: 15, port: 0, net: 71 };

test('archive: a crawl is replayed from it, byte for byte', async (t) => {
  const web = await startWeb({ ...size, shares });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const config = await scratch.config(3, {
    seeds: [web.seed],
    politeness: { hostDelayMs: 20 },
    archive: { fileBytes: '64KiB' },
  });
  const launched = await run('launch', config);
  assert.equal(launched.code, 0, launched.stderr);
  const sql = `SELECT ${archivedPageColumns} FROM pages`;
  const { stdout } = await run('query', config, sql, '--format', 'json');
  const pages = JSON.parse(stdout) as ArchivedPage[];
  assert.ok(pages.length > 100, `${pages.length} pages`);

  const replay = await Replay.of(scratch.dataDir);
  for (const page of pages) {
    const { hostname, pathname, search } = new URL(page.fetch_url);
    const answer = answerOf(web.web, web.web.hostOf(hostname), `${pathname}${search}`, 0);
    assert.equal(page.status, answer.status, page.url);
    assert.deepEqual(replay.bodyOf(page), Buffer.from(answer.body), page.url);
  }
  const { uris } = replay;
  const visited = new Set(pages.map(({ url }) => new URL(url).origin));
  for (const origin of visited) assert.ok(uris.includes(`${origin}/robots.txt`), origin);
  const requests = web.requests().length;
  assert.equal(uris.length, requests, 'each request that was answered is there once');
});
