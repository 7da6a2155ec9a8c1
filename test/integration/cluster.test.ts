// Clusters of real processes on the synthetic web, judged by the web server's log: whatever happens
// to the agents, no page is asked for that must not be, no two requests are at a host at once and
// none comes too soon. Where no agent dies, every page is fetched, too.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Judgement, judge } from '../web/judge.ts';
import { type RunningWeb, startWeb } from '../web/server.ts';
import { type Ended, run, Scratch, start, until, untilAsked } from './cli-process.ts';
import { startGate } from './gate-server.ts';

const delayMs = 40;
const suspectAfterMs = 1200;
const size = { hosts: 12, pages: 12, port: 0, answerMs: 5 };
const shares = { flaky: 0, slow: 0 };

interface Crawl {
  readonly web: RunningWeb;
  readonly scratch: Scratch;
  readonly config: string;
  /** Resolves when so many more requests have ended. */
  served(count: number): Promise<void>;
}

/** @param second - second byte of the web's addresses, which no other test has */
async function crawlOf(
  t: TestContext,
  second: number,
  agents: number,
  seeds: readonly string[] = [],
): Promise<Crawl> {
  const web = await startWeb({ ...size, shares, net: second });
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const config = await scratch.config(agents, {
    seeds: [web.seed, ...seeds],
    politeness: { hostDelayMs: delayMs },
  });
  const served = (count: number) => {
    const before = web.requests().length;
    return until(`${count} requests`, () => web.requests().length >= before + count);
  };
  return { web, scratch, config, served };
}

/** Holds whatever befalls the agents. */
function assertPolite({ web }: Crawl): Judgement {
  const judgement = judge(web.web, web.requests(), { delayMs });
  const { forbidden, unknown, beforeRobots, concurrent, tooSoon } = judgement;
  const none = { count: 0, samples: [] };
  assert.deepEqual(
    { forbidden, unknown, beforeRobots, concurrent, tooSoon },
    { forbidden: none, unknown: none, beforeRobots: none, concurrent: none, tooSoon: none },
  );
  return judgement;
}

function assertWhole(crawl: Crawl, overlapMax: number): void {
  const { missing, overlap } = assertPolite(crawl);
  assert.deepEqual(missing.samples, []);
  assert.ok(overlap.count <= overlapMax, `fetched again: ${overlap.samples.join(', ')}`);
}

function assertCode({ code, stderr }: Ended, wanted: number): void {
  assert.equal(code, wanted, stderr);
}

describe('clusters', { concurrency: 2 }, () => {
  test('three agents fetch every page once', async (t) => {
    const crawl = await crawlOf(t, 51, 3);
    assertCode(await start(['launch', crawl.config]).ended, 0);
    assertWhole(crawl, 0);
  });

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
