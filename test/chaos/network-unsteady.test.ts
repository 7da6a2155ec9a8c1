// Links that come and go, lose packets or are narrow (faults F21 to F23 and F28 of the fault matrix).
// Under `quorum: majority` nothing of it may bring two agents to one host.

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
/** As in the matrix: the kernel's pauses before it sends again do not scale with ours. */
const unscaled = { heartbeatMs: 500, suspectAfterMs: 5000 };

/** What the matrix allows in a minute of links that come and go. */
const lossesMax = 2;

/** Every packet between agents is lost with this chance, until all pages are fetched or beyond. */
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
  // The last words of those who end are not repeated.
  if (!toTheEnd) await network.set([]);
  gate.open();
  return { made, sinceMs, losses, verdict: await cluster.finish() };
}

describe('networks that are unsteady', { concurrency: 2 }, () => {
  linkFault('F21: an agent whose links come and go stays', async (t) => {
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

  linkFault('F22: links cut one by one, and healed in another order', async (t, run) => {
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

  linkFault('F23: of packets lost, 5 in 100, nobody dies', async (t) => {
    const { made, losses, verdict } = await underLoss(t, 5);
    assert.deepEqual(losses, [0, 0, 0]);
    assertCrawled(made.cluster, verdict);
  });

  linkFault('F23: with 20 of 100 packets lost the crawl ends and is whole', async (t) => {
    const { made, sinceMs, verdict } = await underLoss(t, 20);
    // Under `quorum: none` each loss is a partition until it is noticed to be none.
    const losses = made.changesSince(sinceMs).reduce((sum, { lost }) => sum + lost, 0);
    t.diagnostic(`${losses} losses, ${verdict.judgement.overlap.count} fetched again`);
    const strayMax = losses * made.cluster.threads;
    assertCrawled(made.cluster, verdict, { overlapMax: verdict.judgement.expected, strayMax });
  });

  linkFault('F23: with 30 of 100 packets lost the crawl ends, with every page', async (t) => {
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

  linkFault('F28: at 1 Mbit/s heartbeats get through, and nothing is lost', async (t) => {
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
