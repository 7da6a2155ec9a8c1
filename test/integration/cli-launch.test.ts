// `ubiring launch`: a crawl that is stopped and resumed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { slowly, stage } from './cli-launch-stage.ts';
import { run, start, until } from './cli-process.ts';

async function pages(config: string): Promise<string[]> {
  const { stdout } = await run('query', config, 'SELECT url FROM pages ORDER BY 1', '--json');
  return (JSON.parse(stdout) as { url: string }[]).map(({ url }) => url);
}

/** The pages and queued URLs that the last sample of each agent counts. */
async function sampledLast(config: string): Promise<unknown> {
  const last =
    'SELECT pages, queued FROM samples WHERE at IN (SELECT max(at) FROM samples GROUP BY agent)';
  const sums = `SELECT sum(pages) AS pages, sum(queued) AS queued FROM (${last})`;
  return JSON.parse((await run('query', config, sums, '--json')).stdout)[0];
}

// Two at a time, since each test mostly waits for delays and time-outs.
describe('launch', { concurrency: 2 }, () => {
  test('a launch that is stopped ends with 11, and the next launch resumes it and ends with 0', async (context) => {
    const { scratch, crawl, served } = await stage(context);
    const config = await crawl(2, slowly);
    const first = start(['launch', config]);
    await until('both agents', () => ['a1', 'a2'].every((id) => scratch.pid(id) !== null));
    await served(3);
    const { stdout } = await run('status', config, '--json');
    const status = JSON.parse(stdout) as { agents: { id: string }[]; unreachable: string[] };
    assert.deepEqual([status.agents.map(({ id }) => id), status.unreachable], [['a1', 'a2'], []]);
    assert.ok((await pages(config)).length > 0);
    const stopped = await run('stop', config);
    assert.equal(stopped.stdout.split('\n').toSorted().join(' '), ' a1: applied a2: applied');
    const interrupted = await first.ended;
    assert.equal(interrupted.code, 11, interrupted.stderr);
    assert.match(interrupted.stderr, /interrupted; run launch again to continue/);
    assert.equal(fs.existsSync(path.join(scratch.dataDir, 'complete.json')), false);
    const before = await pages(config);
    assert.equal(((await sampledLast(config)) as { pages: number }).pages, before.length);
    // The agents must agree on the delay, but it is not part of the identity of the crawl.
    const { politeness: _, ...quick } = JSON.parse(fs.readFileSync(config, 'utf8'));
    scratch.write('crawl.json', { ...quick, politeness: { hostDelayMs: 10 } });
    const resumed = await run('launch', config);
    assert.equal(resumed.code, 0, resumed.stderr);
    const all = await pages(config);
    assert.ok(all.length > before.length);
    assert.deepEqual(await sampledLast(config), { pages: all.length, queued: 0 });
    assert.deepEqual(
      before.filter((url) => !all.includes(url)),
      [],
    );
  });
});
