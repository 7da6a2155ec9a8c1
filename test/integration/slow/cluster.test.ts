// Clusters of real processes on the synthetic web, judged by the web server's log: whatever happens
// to the agents, no page is asked for that must not be, no two requests are at a host at once and
// none comes too soon. Where no agent dies, every page is fetched, too.
// The slower of these tests; the others are in `test/integration/cluster.test.ts`.

import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { run, start, untilAsked } from '../cli-process.ts';
import { assertCode, assertPolite, assertWhole, crawlOf, size } from '../cluster-stage.ts';
import { startGate } from '../gate-server.ts';

const suspectAfterMs = 1200;

describe('clusters', { concurrency: 2 }, () => {
  test('an agent that is killed and started again joins, and the crawl ends with 0', async (t) => {
    const crawl = await crawlOf(t, 52, 3);
    const launch = start(['launch', crawl.config]);
    await crawl.served(15);
    process.kill(crawl.scratch.pid('a2')!, 'SIGKILL');
    await crawl.served(10);
    const again = start(['agent', crawl.config, '--id', 'a2']);
    assertCode(await launch.ended, 0);
    assertCode(await again.ended, 0);
    assertPolite(crawl);
  });

  test('a crawl that was stopped goes on and is whole', async (t) => {
    const crawl = await crawlOf(t, 53, 2);
    const launch = start(['launch', crawl.config]);
    await crawl.served(25);
    launch.child.kill('SIGTERM');
    assertCode(await launch.ended, 11);
    assertCode(await start(['launch', crawl.config]).ended, 0);
    // What was open when the first ended may be asked for again: one request a host.
    assertWhole(crawl, size.hosts);
  });

  test('an agent that stands still and goes on does not disturb its successor', async (t) => {
    const crawl = await crawlOf(t, 54, 3);
    const launch = start(['launch', crawl.config]);
    await crawl.served(15);
    const pid = crawl.scratch.pid('a2')!;
    process.kill(pid, 'SIGSTOP');
    // The fault itself has a duration: long enough to be taken for dead.
    await pause(1.5 * suspectAfterMs);
    // An agent that found nothing more to do may have been ended by the launch.
    if (crawl.scratch.pid('a2') === pid && launch.child.exitCode === null) {
      process.kill(pid, 'SIGCONT');
    }
    assertCode(await launch.ended, 0);
    assertPolite(crawl);
  });

  test('a late agent joins a running crawl, which is whole', async (t) => {
    const gate = await startGate();
    t.after(() => gate.stop());
    const crawl = await crawlOf(t, 55, 3, [gate.seed]);
    const launch = start(['launch', crawl.config, '--agents', '2']);
    await crawl.served(10);
    const late = start(['agent', crawl.config, '--id', 'a3']);
    const joined = async () => {
      const { stdout } = await run('status', crawl.config, '--json');
      return (JSON.parse(stdout) as { agents: { id: string }[] }).agents.length === 3;
    };
    await untilAsked('a3 has joined', joined);
    gate.open();
    assertCode(await launch.ended, 0);
    assertCode(await late.ended, 0);
    // Until rows travel with their hosts, the new owner may fetch pages that the old one had.
    assertWhole(crawl, Number.POSITIVE_INFINITY);
  });
});
