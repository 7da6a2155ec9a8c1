// A third of the hosts gives no answer until every page of the others has been fetched: so the
// others are not held up by them, however slow the machine is, or the crawl could never end.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startSlowWeb } from '../../bench/slow-web.ts';
import { Scratch, start } from './cli-process.ts';

const cases = [
  {
    title: 'hosts that do not answer hold nobody up while threads are free',
    ...{ hosts: 12, slowHosts: 4, pages: 15, slowPages: 3, threads: 12 },
  },
  {
    // With 16 threads 32 hosts are visited at a time, those whose answers are slow not counted.
    title: 'more hosts that do not answer than are visited at a time, found first, hold nobody up',
    ...{ hosts: 42, slowHosts: 40, pages: 15, slowPages: 1, threads: 16 },
  },
  {
    title: 'many times as many hosts that do not answer as threads, found first, hold nobody up',
    ...{ hosts: 62, slowHosts: 60, pages: 15, slowPages: 1, threads: 4 },
  },
];

for (const { title, ...web } of cases) test(`visits: ${title}`, (t) => crawl(t, web));

type Web = Omit<(typeof cases)[number], 'title'>;

async function crawl(t: TestContext, options: Web): Promise<void> {
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
