// Links that come and go, lose packets or are narrow. Under `quorum: majority` two agents must
// never request from one host at once.

import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../simulation/random.ts';
import { runs } from './harness.ts';
import {
  assertCrawled,
  assertHealed,
  assertNobodyLost,
  inNamespaces,
  linkFault,
  nowMs,
} from './network-cluster.ts';
import { cutBetween, type LinkFault, partition } from './network-namespaces.ts';

const delayMs = 300;
/** Not scaled, because the kernel's retransmission pauses do not scale with the timeout. */
const unscaled = { heartbeatMs: 500, suspectAfterMs: 5000 };

/** Losses allowed in a minute of links that come and go. */
const lossesMax = 2;

/**
 * Loses each packet between agents with this probability, until all pages are fetched or to the
 * end.
 */
async function underLoss(t: TestContext, percent: number, toTheEnd = false) {
  const made = await inNamespaces(t, { agents: 3, delayMs: 150, ...unscaled });
  const { cluster, gate, network } = made;
  const sinceMs = nowMs();
  await network.set(
    cluster.ids.flatMap((from) =>
      cluster.ids.flatMap((to): LinkFault[] =>
        from === to ? [] : [{ kind: 'loss', from, to, percent }],
      ),
    ),
  );
  await cluster.reaches(1);
  const losses = made.changesSince(sinceMs).map(({ lost }) => lost);
  // An agent that ends does not repeat its last messages.
  if (!toTheEnd) await network.set([]);
  gate.open();
  return { made, sinceMs, losses, verdict: await cluster.finish() };
}

describe('unsteady networks', { concurrency: 2 }, () => {
  linkFault('an agent whose links come and go stays a member', async (t) => {
    const made = await inNamespaces(t, { agents: 4, quorum: 'majority', delayMs, ...unscaled });
    const { cluster, gate, network } = made;
    const sinceMs = nowMs();
    for (let turn = 0; turn < 6; turn++) {
      await network.set(partition(['a1'], ['a2', 'a3', 'a4']));
      await pause(1000);
      await network.set([]);
      await pause(1000);
    }
    await assertHealed(made, nowMs());
    for (const { id, lost } of made.changesSince(sinceMs)) {
      assert.ok(lost <= lossesMax, `${id}: ${lost} losses`);
    }
    gate.open();
    assertCrawled(cluster, await cluster.finish(), { overlapMax: 2 * cluster.threads });
  });

  linkFault('agents agree again after links are cut and healed one by one', async (t, run) => {
    const made = await inNamespaces(t, { agents: 5, quorum: 'majority', delayMs });
    const { cluster, gate, network } = made;
    const random = new Random(run);
    const links = cluster.ids.flatMap((a, k) =>
      cluster.ids.slice(k + 1).map((b) => cutBetween(a, b)),
    );
    const cut = new Set<LinkFault[]>();
    const step = async () => {
      await network.set([...cut].flat());
      await pause(0.25 * cluster.suspectAfterMs);
    };
    for (const link of shuffled(links, random)) {
      cut.add(link);
      await step();
    }
    for (const link of shuffled(links, random)) {
      cut.delete(link);
      await step();
    }
    await assertHealed(made, nowMs());
    gate.open();
    const verdict = await cluster.finish();
    assertCrawled(cluster, verdict, { overlapMax: verdict.judgement.expected });
  });

  linkFault('with 5 % of packets lost, no agent is removed', async (t) => {
    const { made, losses, verdict } = await underLoss(t, 5);
    assert.deepEqual(losses, [0, 0, 0]);
    assertCrawled(made.cluster, verdict);
  });

  linkFault('with 20 % of packets lost, the crawl completes', async (t) => {
    const { made, sinceMs, verdict } = await underLoss(t, 20);
    // Under `quorum: none` each loss counts as a partition until the agents notice that it is none.
    const losses = made.changesSince(sinceMs).reduce((sum, { lost }) => sum + lost, 0);
    t.diagnostic(`${losses} losses, ${verdict.judgement.overlap.count} fetched again`);
    const strayMax = losses * made.cluster.threads;
    assertCrawled(made.cluster, verdict, { overlapMax: verdict.judgement.expected, strayMax });
  });

  linkFault('with 30 % of packets lost, the crawl ends with every page', async (t) => {
    if (runs === 1) return t.skip('takes up to two minutes: CHAOS_RUNS=2');
    const { made, sinceMs, verdict } = await underLoss(t, 30, true);
    const losses = made.changesSince(sinceMs).reduce((sum, { lost }) => sum + lost, 0);
    t.diagnostic(`${losses} losses, ${verdict.judgement.overlap.count} fetched again`);
    assert.equal(verdict.judgement.missing.count, 0);
    assert.deepEqual(
      verdict.ends.map(({ code }) => code),
      [0, 0, 0],
    );
  });

  linkFault('at 1 Mbit/s heartbeats arrive, and nothing is lost', async (t) => {
    const web = { hosts: 24, pages: 20, linksPerPage: 60, crossLinks: 40 };
    const made = await inNamespaces(t, { agents: 3, web, delayMs: 60, ...unscaled });
    const { cluster, gate, network } = made;
    const sinceMs = nowMs();
    await network.narrow('1mbit');
    await cluster.reaches(1);
    assertNobodyLost(made, sinceMs);
    gate.open();
    assertCrawled(cluster, await cluster.finish(), { overlapMax: cluster.threads });
  });
});

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
