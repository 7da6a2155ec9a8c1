// Networks that are cut (faults F15 to F20 of the fault matrix, durations scaled to the time-out):
// what holds is who may crawl while the cut lasts, and that all are one cluster again soon after.

import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from './harness.ts';
import { abortedIn } from './harness-verdict.ts';
import {
  assertCrawled,
  assertHealed,
  assertNobodyLost,
  inNamespaces,
  linkFault,
  nowMs,
  straysOf,
} from './network-cluster.ts';
import { cutBetween, type LinkFault, partition } from './network-namespaces.ts';

/** Times the time-out: as long as the matrix's 30 s at its 5 s. */
const cutTimeouts = 6;
/** Slow enough that there are pages left when the cut is healed. */
const delayMs = 300;

/** Cuts `some` off, heals, and tells who asked for what meanwhile. */
async function cutOff(
  t: TestContext,
  agents: number,
  some: readonly string[],
  quorum: 'none' | 'majority',
) {
  // Two such clusters run at a time, and an agent that loses its lease for want of a processor would
  // count as one that the cut lost.
  const made = await inNamespaces(t, { agents, quorum, delayMs, suspectAfterMs: 4000 });
  const { cluster, network } = made;
  const others = cluster.ids.filter((id) => !some.includes(id));
  await cluster.reaches(0.2);
  const cutMs = nowMs();
  await network.set(partition(some, others));
  // The filters are set agent by agent, each by a process: the cut is whole at the last.
  const wholeMs = nowMs();
  // The fault is a duration.
  await pause(cutTimeouts * cluster.suspectAfterMs);
  const healMs = nowMs();
  await network.set([]);
  await assertHealed(made, healMs);
  const agreedMs = nowMs();
  for (const { id, lost } of made.changesSince(cutMs)) {
    const across = some.includes(id) ? others.length : some.length;
    assert.ok(lost <= across + 1, `${id}: ${lost} losses, at most each other once and its own`);
  }
  const from = (ids: readonly string[], sinceMs: number, untilMs: number) => {
    const addresses = new Set(ids.map((id) => network.address(id)));
    return cluster.web
      .requests()
      .filter((r) => addresses.has(r.client!) && r.startMs > sinceMs && r.startMs < untilMs);
  };
  return { ...made, others, cutMs, wholeMs, healMs, agreedMs, from };
}

async function assertMinorityStops(t: TestContext, agents: number, few: readonly string[]) {
  const { cluster, gate, others, wholeMs, healMs, from } = await cutOff(t, agents, few, 'majority');
  const stoppedMs = wholeMs + cluster.suspectAfterMs;
  assert.equal(from(few, stoppedMs, healMs).length, 0, 'who is cut off must not crawl');
  assert.ok(from(others, stoppedMs, healMs).length > 0, 'the majority must go on');
  gate.open();
  // Hosts whose owner and backup are both cut off begin anew on the other side.
  const overlapMax = from(few, Number.NEGATIVE_INFINITY, stoppedMs).length;
  assertCrawled(cluster, await cluster.finish(), { overlapMax });
}

/** Each side keeps every promise by itself; against the other only before and after. */
async function assertBothSidesCrawl(t: TestContext, agents: number, some: readonly string[]) {
  const made = await cutOff(t, agents, some, 'none');
  const { cluster, gate, network, others, cutMs, healMs, agreedMs, from } = made;
  for (const side of [some, others]) {
    assert.ok(from(side, cutMs + cluster.suspectAfterMs, healMs).length > 0, `${side} stopped`);
    const addresses = new Set(side.map((id) => network.address(id)));
    assert.equal(
      straysOf(cluster, ({ client }) => addresses.has(client!)),
      0,
      `among ${side}`,
    );
  }
  gate.open();
  const verdict = await cluster.finish();
  assert.equal(
    straysOf(cluster, ({ startMs }) => startMs < cutMs),
    0,
    'before',
  );
  assert.equal(
    straysOf(cluster, ({ startMs }) => startMs > agreedMs),
    0,
    'after',
  );
  // Each page once a side, and again where a request was given up when its lease had lapsed.
  const overlapMax = verdict.judgement.expected + abortedIn(verdict);
  assertCrawled(cluster, verdict, { overlapMax, strayMax: Number.POSITIVE_INFINITY });
}

/** A cut around which everything finds a way costs nothing at all. */
async function assertWorkedAround(
  t: TestContext,
  agents: number,
  faults: (cluster: Cluster) => readonly LinkFault[],
) {
  const made = await inNamespaces(t, { agents, delayMs, suspectAfterMs: 4000 });
  const { cluster, gate, network } = made;
  await cluster.reaches(0.2);
  const cutMs = nowMs();
  await network.set(faults(cluster));
  await pause(cutTimeouts * cluster.suspectAfterMs);
  await network.set([]);
  gate.open();
  const verdict = await cluster.finish();
  assertNobodyLost(made, cutMs);
  assertCrawled(cluster, verdict);
}

describe('networks that are cut', { concurrency: 2 }, () => {
  linkFault('F15: of a partition 2 | 3 the smaller side stops, under quorum majority', (t) =>
    assertMinorityStops(t, 5, ['a1', 'a2']),
  );

  linkFault('F15: both sides of a partition 2 | 3 crawl, under quorum none, and merge', (t) =>
    assertBothSidesCrawl(t, 5, ['a1', 'a2']),
  );

  linkFault('F16: an agent cut off from its peers stops, under quorum majority', (t) =>
    assertMinorityStops(t, 3, ['a1']),
  );

  linkFault('F16: an agent cut off from its peers crawls on, under quorum none, and merges', (t) =>
    assertBothSidesCrawl(t, 3, ['a1']),
  );

  linkFault('F17: an agent cut off from the web waits, and gives no page up', async (t) => {
    const timeouts = { connectMs: 1000, responseMs: 2000, totalMs: 5000 };
    const userAgent = 'chaos (+https://example.org/)';
    const http = { userAgent, allowPrivateAddresses: true, timeouts };
    const made = await inNamespaces(t, { agents: 3, delayMs, config: { http } });
    const { cluster, gate, network } = made;
    await cluster.reaches(0.2);
    const cutMs = nowMs();
    await network.set([{ kind: 'webless', id: 'a1' }]);
    // Longer than any request may take.
    await pause(timeouts.totalMs + 1000);
    await network.set([]);
    gate.open();
    const verdict = await cluster.finish();
    assertNobodyLost(made, cutMs);
    // What the agent sent and gave up during the cut reaches the server when the cut is healed.
    const strayMax = cluster.web.requests().filter(({ status }) => status === 0).length;
    // Answers that were on their way when the cut came.
    assertCrawled(cluster, verdict, { overlapMax: cluster.threads, strayMax });
    const errors = cluster.ids.flatMap((id) =>
      cluster
        .state(id)
        .state()
        .pages.filter(({ error }) => error !== null),
    );
    assert.deepEqual(errors, []);
  });

  linkFault('F18: who is not heard by one, but by a third, stays', (t) =>
    assertWorkedAround(t, 3, () => [{ kind: 'mute', from: 'a1', to: 'a2' }]),
  );

  linkFault('F19: two that are cut from one another, and not from a third, stay', (t) =>
    assertWorkedAround(t, 3, () => cutBetween('a1', 'a2')),
  );

  linkFault('F20: of five, each of which sees two, all stay', (t) =>
    assertWorkedAround(t, 5, ({ ids }) =>
      ids.flatMap((id, k) => cutBetween(id, ids[(k + 2) % ids.length]!)),
    ),
  );
});
