// Slow and faulty links: proxies between the agents delay, throttle, reset, damage, repeat and
// reorder their messages.

import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { LoggedRequest } from '../web/request-log.ts';
import { type Cluster, type ClusterOptions, fault, ringOf } from './harness.ts';
import { abortedIn } from './harness-verdict.ts';
import {
  assertCrawled,
  assertHealed,
  assertNobodyLost,
  behindProxies,
  nowMs,
} from './network-cluster.ts';
import type { NetworkProxy, ProxyFault } from './network-proxy.ts';

/** Long enough that delays of a busy machine do not count as faults of the network. */
const steady = { heartbeatMs: 200, suspectAfterMs: 3000 };

/** Runs a crawl with a fault on every link and reports the proxies' counts. */
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
  // An agent that ends does not repeat its last messages.
  for (const proxy of made.proxies) proxy.fault = {};
  made.gate.open();
  const verdict = await made.cluster.finish();
  return { ...made, verdict, counts, losses };
}

/** The requests to the hosts that the agent owns while all are members. */
function ownRequests({ ids, web }: Cluster, id: string): readonly LoggedRequest[] {
  const ring = ringOf(ids);
  return web.requests().filter(({ host }) => ring.owner(host) === id);
}

function sumOf(proxies: readonly NetworkProxy[]): NetworkProxy['counts'] {
  const names = Object.keys(proxies[0]!.counts) as (keyof NetworkProxy['counts'])[];
  const sums = names.map((name) => proxies.reduce((sum, { counts }) => sum + counts[name], 0));
  return Object.fromEntries(names.map((name, k) => [name, sums[k]!])) as NetworkProxy['counts'];
}

describe('slow and faulty links', { concurrency: 2 }, () => {
  fault('a delay of 50 ms with 50 ms of jitter costs nothing', async (t, run) => {
    const crawl = await crawlUnder(t, run, { delayMs: 50, jitterMs: 50 });
    assert.deepEqual(crawl.losses, [0, 0, 0]);
    assertCrawled(crawl.cluster, crawl.verdict);
  });

  fault('a delay of 500 ms with a timeout of 5 s costs nothing', async (t, run) => {
    const slow = { delayMs: 500, jitterMs: 100 };
    const crawl = await crawlUnder(t, run, slow, { suspectAfterMs: 5000, heartbeatMs: 500 });
    assert.deepEqual(crawl.losses, [0, 0, 0]);
    assertCrawled(crawl.cluster, crawl.verdict);
  });

  fault('a link that is blocked for less than the timeout costs no member', async (t, run) => {
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

  fault('after a block longer than the timeout, all agents agree again', async (t, run) => {
    const quorum = 'majority' as const;
    const made = await behindProxies(t, { agents: 3, seed: run, delayMs: 400, quorum });
    const { cluster, gate, proxies } = made;
    const blockedMs = nowMs();
    proxies[0]!.fault = { clogged: true };
    await pause(2.5 * cluster.suspectAfterMs);
    proxies[0]!.fault = {};
    await assertHealed(made, nowMs());
    gate.open();
    const verdict = await cluster.finish();
    // No acknowledgement reaches the first agent, so it sends no second message with rows: what it
    // fetches until its leases lapse is in no copy.
    const stoppedMs = blockedMs + cluster.suspectAfterMs;
    const uncopied = ownRequests(cluster, cluster.ids[0]!).filter(
      ({ startMs }) => startMs >= blockedMs && startMs < stoppedMs,
    ).length;
    const overlapMax = 2 * cluster.threads + abortedIn(verdict) + uncopied;
    t.diagnostic(`${verdict.judgement.overlap.count} fetched again, ${overlapMax} allowed`);
    assertCrawled(cluster, verdict, { overlapMax });
  });

  fault('repeated, reordered and replayed messages change nothing', async (t, run) => {
    const crawl = await crawlUnder(t, run, { duplicated: 0.3, reordered: 0.3, replayed: 0.3 });
    assert.ok(crawl.counts.repeated > 100 && crawl.counts.reordered > 100, 'too few faults');
    assert.deepEqual(crawl.losses, [0, 0, 0]);
    assertCrawled(crawl.cluster, crawl.verdict);
  });

  fault('damaged bytes are detected and sent again', async (t, run) => {
    const crawl = await crawlUnder(t, run, { flipEveryBytes: 8 * 1024 });
    assert.ok(crawl.counts.flipped > 10, 'too few faults');
    assertCrawled(crawl.cluster, crawl.verdict, { overlapMax: 2 * crawl.cluster.threads });
  });

  fault('connections that are reset every second lose nothing', async (t, run) => {
    const crawl = await crawlUnder(t, run, { resetAfterMs: 1000 }, { quorum: 'majority' });
    assert.ok(crawl.counts.resets > 10, 'too few faults');
    t.diagnostic(`losses: ${crawl.losses}`);
    assertCrawled(crawl.cluster, crawl.verdict, { overlapMax: crawl.cluster.threads });
  });

  fault(
    'if one agent hardly reads, the others continue to crawl, and nothing is lost',
    async (t, run) => {
      // In proportion to a timeout of 5 s: three heartbeats and messages here for one there.
      const quorum = 'majority' as const;
      const pace = { heartbeatMs: 300, suspectAfterMs: 1500 };
      const made = await behindProxies(t, { agents: 3, seed: run, delayMs: 150, quorum, ...pace });
      const { cluster, gate, proxies } = made;
      proxies[0]!.fault = { messagesPerSecond: 3 };
      await pause(8 * cluster.suspectAfterMs);
      t.diagnostic(`${Math.round(100 * cluster.share())} % of the pages meanwhile`);
      // Two thirds of the hosts have other owners. Some of these wait for its echo.
      assert.ok(cluster.share() > 0.3, 'the others are stalled');
      proxies[0]!.fault = {};
      await assertHealed(made, nowMs());
      gate.open();
      // An agent that does not keep up with heartbeats is removed and joins again, repeatedly.
      const verdict = await cluster.finish();
      assertCrawled(cluster, verdict, { overlapMax: verdict.judgement.expected });
    },
  );
});
