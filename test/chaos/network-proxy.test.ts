// Links that are slow or faulty (faults F24 to F27 and F29 of the fault matrix): proxies between the
// agents delay, throttle, break off, damage, repeat and reorder what they say.

import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type ClusterOptions, fault } from './harness.ts';
import {
  assertCrawled,
  assertHealed,
  assertNobodyLost,
  behindProxies,
  nowMs,
} from './network-cluster.ts';
import type { NetworkProxy, ProxyFault } from './network-proxy.ts';

/** Long enough that a busy machine is not taken for a fault of the network. */
const steady = { heartbeatMs: 200, suspectAfterMs: 3000 };

/** A whole crawl with every link at fault; what the proxies did is told. */
async function crawlUnder(
  t: TestContext,
  seed: number,
  what: ProxyFault,
  options: Partial<ClusterOptions> = {},
) {
  const made = await behindProxies(t, {
    agents: 3,
    seed,
    delayMs: 150,
    ...steady,
    ...options,
  });
  const sinceMs = nowMs();
  for (const proxy of made.proxies) proxy.fault = what;
  await made.cluster.reaches(1);
  const counts = sumOf(made.proxies);
  t.diagnostic(JSON.stringify(counts));
  const losses = made.changesSince(sinceMs).map(({ lost }) => lost);
  // The last words of those who end are not repeated.
  for (const proxy of made.proxies) proxy.fault = {};
  made.gate.open();
  const verdict = await made.cluster.finish();
  return { ...made, verdict, counts, losses };
}

function sumOf(proxies: readonly NetworkProxy[]): NetworkProxy['counts'] {
  const names = Object.keys(proxies[0]!.counts) as (keyof NetworkProxy['counts'])[];
  const sums = names.map((name) => proxies.reduce((sum, { counts }) => sum + counts[name], 0));
  return Object.fromEntries(names.map((name, k) => [name, sums[k]!])) as NetworkProxy['counts'];
}

describe('links that are slow or faulty', { concurrency: 2 }, () => {
  fault('F24: a delay of 50 ms and as much jitter costs nothing', async (t, run) => {
    const crawl = await crawlUnder(t, run, { delayMs: 50, jitterMs: 50 });
    assert.deepEqual(crawl.losses, [0, 0, 0]);
    assertCrawled(crawl.cluster, crawl.verdict);
  });

  fault('F24: a delay of 500 ms, at a time-out of 5 s, costs nothing', async (t, run) => {
    const slow = { delayMs: 500, jitterMs: 100 };
    const crawl = await crawlUnder(t, run, slow, { suspectAfterMs: 5000, heartbeatMs: 500 });
    assert.deepEqual(crawl.losses, [0, 0, 0]);
    assertCrawled(crawl.cluster, crawl.verdict);
  });

  fault('F24: a clog shorter than the time-out costs no member', async (t, run) => {
    const made = await behindProxies(t, { agents: 3, seed: run, delayMs: 150, ...steady });
    const { cluster, gate, proxies } = made;
    const sinceMs = nowMs();
    for (let turn = 0; turn < 3; turn++) {
      proxies[0]!.fault = { clogged: true };
      await pause(0.6 * cluster.suspectAfterMs);
      proxies[0]!.fault = {};
      await pause(0.6 * cluster.suspectAfterMs);
    }
    assertNobodyLost(made, sinceMs);
    gate.open();
    assertCrawled(cluster, await cluster.finish(), { overlapMax: cluster.threads });
  });

  fault('F24: after a clog longer than the time-out all are one again', async (t, run) => {
    const quorum = 'majority' as const;
    const made = await behindProxies(t, { agents: 3, seed: run, delayMs: 150, quorum });
    const { cluster, gate, proxies } = made;
    proxies[0]!.fault = { clogged: true };
    await pause(2.5 * cluster.suspectAfterMs);
    proxies[0]!.fault = {};
    await assertHealed(made, nowMs());
    gate.open();
    assertCrawled(cluster, await cluster.finish(), { overlapMax: 2 * cluster.threads });
  });

  fault('F25: messages repeated, reordered and replayed change nothing', async (t, run) => {
    const crawl = await crawlUnder(t, run, { duplicated: 0.3, reordered: 0.3, replayed: 0.3 });
    assert.ok(crawl.counts.repeated > 100 && crawl.counts.reordered > 100, 'too few to tell');
    assert.deepEqual(crawl.losses, [0, 0, 0]);
    assertCrawled(crawl.cluster, crawl.verdict);
  });

  fault('F26: damaged bytes are noticed and sent again', async (t, run) => {
    const crawl = await crawlUnder(t, run, { flipEveryBytes: 8 * 1024 });
    assert.ok(crawl.counts.flipped > 10, 'too few to tell');
    assertCrawled(crawl.cluster, crawl.verdict, { overlapMax: 2 * crawl.cluster.threads });
  });

  fault('F27: connections reset every second lose nothing', async (t, run) => {
    const crawl = await crawlUnder(t, run, { resetAfterMs: 1000 }, { quorum: 'majority' });
    assert.ok(crawl.counts.resets > 10, 'too few to tell');
    t.diagnostic(`losses: ${crawl.losses}`);
    assertCrawled(crawl.cluster, crawl.verdict, { overlapMax: crawl.cluster.threads });
  });

  fault(
    'F29: beside one that hardly reads the others crawl on, and nothing is lost',
    async (t, run) => {
      // In proportion to the matrix's time-out of 5 s: three heartbeats and messages for one there.
      const quorum = 'majority' as const;
      const pace = { heartbeatMs: 300, suspectAfterMs: 1500 };
      const made = await behindProxies(t, { agents: 3, seed: run, delayMs: 150, quorum, ...pace });
      const { cluster, gate, proxies } = made;
      proxies[0]!.fault = { messagesPerSecond: 3 };
      await pause(8 * cluster.suspectAfterMs);
      t.diagnostic(`${Math.round(100 * cluster.share())} % of the pages meanwhile`);
      // Two thirds of the hosts are not its own; some of those wait for its echo.
      assert.ok(cluster.share() > 0.3, 'the others stand still');
      proxies[0]!.fault = {};
      await assertHealed(made, nowMs());
      gate.open();
      // Who does not keep up with heartbeats is given up and comes back, again and again.
      const verdict = await cluster.finish();
      assertCrawled(cluster, verdict, { overlapMax: verdict.judgement.expected });
    },
  );
});
