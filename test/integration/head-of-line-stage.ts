// The crawl shared by `head-of-line.test.ts` and `slow/head-of-line.test.ts`: the slow hosts of the
// web do not answer until every page of the other hosts has been fetched.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startSlowWeb } from '../../bench/slow-web.ts';
import { Scratch, start } from './cli-process.ts';

/** Sizes of the web, and the threads of the agent. */
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
      // One more request per host is for robots.txt.
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
  assert.equal(
    new Set(open.map(({ address }) => address)).size,
    slowHosts,
    'each slow host has a request',
  );
  assert.equal(open.length, slowHosts, 'one request per slow host');
  assert.ok(
    open.every(({ endMs }) => endMs === null),
    'no slow host has answered',
  );
  answer();
  const { code, stderr } = await launched.ended;
  assert.equal(code, 0, stderr);
  assert.equal(slow().length, slowHosts * (slowPages + 1), 'the slow hosts are crawled afterwards');
}
