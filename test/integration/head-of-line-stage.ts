// A crawl of a web a third of which, or more, gives no answer until every page of the other hosts has
// been fetched: for the tests in `head-of-line.test.ts` and in `slow/head-of-line.test.ts`.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startSlowWeb } from '../../bench/slow-web.ts';
import { Scratch, start } from './cli-process.ts';

/** Its hosts, how many of them are slow, the pages of either kind, and the agent's threads. */
interface Web {
  readonly hosts: number;
  readonly slowHosts: number;
  readonly pages: number;
  readonly slowPages: number;
  readonly threads: number;
}

export async function crawlBesideSlowHosts(t: TestContext, options: Web): Promise<void> {
  const { hosts, slowHosts, pages, slowPages, threads } = options;
  const scratch = new Scratch();
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const patience = () => answered;
  const web = await startSlowWeb({ hosts, slowHosts, pages, slowPages, patience });
  t.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const fast = () => web.asked.filter(({ address }) => !web.isSlow(address));
  const slow = () => web.asked.filter(({ address }) => web.isSlow(address));
  const fastDone = new Promise<void>((resolve) => {
    web.onAnswer = () => {
      // Each has a robots.txt besides.
      if (fast().length === (hosts - slowHosts) * (pages + 1)) resolve();
    };
  });
  const config = await scratch.config(1, {
    seeds: web.seeds,
    politeness: { hostDelayMs: 5 },
    http: {
      ...{ userAgent: 'cli-test (+https://example.org/)', allowPrivateAddresses: true },
      timeouts: { responseMs: '60s', totalMs: '60s' },
    },
    agent: { threads, dataDir: 'data' },
  });
  const launched = start(['launch', config]);
  await Promise.race([fastDone, launched.ended]);
  const open = slow().map(({ address, endMs }) => ({ address, endMs }));
  assert.equal(fast().length, (hosts - slowHosts) * (pages + 1), launched.stderr());
  assert.equal(new Set(open.map(({ address }) => address)).size, slowHosts, 'all slow ones asked');
  assert.equal(open.length, slowHosts, 'each once');
  assert.ok(
    open.every(({ endMs }) => endMs === null),
    'and none has answered',
  );
  answer();
  const { code, stderr } = await launched.ended;
  assert.equal(code, 0, stderr);
  assert.equal(slow().length, slowHosts * (slowPages + 1), 'then they are crawled as well');
}
