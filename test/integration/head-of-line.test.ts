// A third of the hosts gives no answer until every page of the others has been fetched: so the
// others are not held up by them, however slow the machine is, or the crawl could never end.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSlowWeb } from '../../bench/slow-web.ts';
import { Scratch, start } from './cli-process.ts';

const [hosts, slowHosts, pages, slowPages] = [12, 4, 15, 3];

test('visits: hosts that do not answer hold nobody up while threads are free', async (t) => {
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
    agent: { threads: hosts, dataDir: 'data' },
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
});
