// The set-up shared by `archive-replay.test.ts` and `slow/archive-replay.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import type { TestContext } from 'node:test';
import { patient, run, Scratch } from '../integration/cli-process.ts';
import { type ArchivedPage, archivedPageColumns, type Replay } from '../unit/archive/replay.ts';
import { answerOf } from '../web/answer.ts';
import { type RunningWeb, startWeb } from '../web/server.ts';

const shares = { flaky: 0, slow: 0 };
const size = { hosts: 12, pages: 15, port: 0, net: 71 };
export const agents = ['a1', 'a2'];

export async function stage(t: TestContext) {
  const web = await startWeb({ ...size, shares });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const more = { seeds: [web.seed], politeness: { hostDelayMs: 20 } };
  const config = await scratch.config(agents.length, more, patient);
  const pack = (compression: string) => {
    const written = JSON.parse(fs.readFileSync(config, 'utf8')) as object;
    scratch.write('crawl.json', { ...written, archive: { fileBytes: '64KiB', compression } });
  };
  return { web, scratch, config, pack };
}

/** Compares every page with the archives. Returns the number of pages in files of each suffix. */
export async function assertReplayed(replay: Replay, web: RunningWeb, config: string) {
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

export async function launched(...args: string[]): Promise<void> {
  const { code, stderr } = await run('launch', ...args);
  assert.equal(code, 0, stderr);
}
