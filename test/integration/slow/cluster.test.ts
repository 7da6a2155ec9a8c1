// Clusters of real processes crawl the synthetic web, and the log of the web server is judged. No
// forbidden page may be requested, no host may have two requests at a time, and each delay must be
// kept, even if agents fail. If no agent is killed, every page must be fetched.
// The slower of these tests; the others are in `test/integration/cluster.test.ts`.

import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { run, start, untilAsked } from '../cli-process.ts';
import { assertCode, assertPolite, assertWhole, crawlOf, size } from '../cluster-stage.ts';
import { startGate } from '../gate-server.ts';

const suspectAfterMs = 1200;

describe('clusters', { concurrency: 2 }, () => {
  test('an agent that is killed and restarted joins again, and the crawl ends with 0', async (t) => {
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

  test('a stopped crawl is resumed and fetches every page', async (t) => {
    const crawl = await crawlOf(t, 53, 2);
    const launch = start(['launch', crawl.config]);
    await crawl.served(25);
    launch.child.kill('SIGTERM');
    assertCode(await launch.ended, 11);
    assertCode(await start(['launch', crawl.config]).ended, 0);
    // Requests that were open at the stop may be repeated: one per host.
    assertWhole(crawl, size.hosts);
  });

  test('a suspended agent that continues does not disturb its successor', async (t) => {
    const crawl = await crawlOf(t, 54, 3);
    const launch = start(['launch', crawl.config]);
    await crawl.served(15);
    const pid = crawl.scratch.pid('a2')!;
    process.kill(pid, 'SIGSTOP');
    // The suspension lasts long enough for the others to remove the agent.
    await pause(1.5 * suspectAfterMs);
    // The launch may have killed the agent if no work was left.
    if (crawl.scratch.pid('a2') === pid && launch.child.exitCode === null) {
      process.kill(pid, 'SIGCONT');
    }
    assertCode(await launch.ended, 0);
    assertPolite(crawl);
  });

  test('an agent joins a running crawl late, and every page is fetched', async (t) => {
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
    // Before it has the rows of a host, the new owner may fetch pages of the previous owner again.
    assertWhole(crawl, Number.POSITIVE_INFINITY);
  });
});
