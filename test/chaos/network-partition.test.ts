// Partitioned networks, with durations relative to the timeout. The tests check which agents may
// crawl during the cut, and that all are one cluster again soon after it.

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

/** Duration of the cut in timeouts. */
const cutTimeouts = 6;
/** Slow enough that pages are left when the cut is healed. */
const delayMs = 300;

/**
 * Cuts `some` off, heals the network, and returns access to the requests of the agents meanwhile.
 */
async function cutOff(
  t: TestContext,
  agents: number,
  some: readonly string[],
  quorum: 'none' | 'majority',
) {
  // Two such clusters run at a time. A lease that lapses on a busy processor would count as a loss
  // by the cut.
  const made = await inNamespaces(t, { agents, quorum, delayMs, suspectAfterMs: 4000 });
  const { cluster, network } = made;
  const others = cluster.ids.filter((id) => !some.includes(id));
  await cluster.reaches(0.2);
  const cutMs = nowMs();
  await network.set(partition(some, others));
  // Each agent's filter is set by its own process: the cut is complete after the last.
  const wholeMs = nowMs();
  // The fault has a duration.
  await pause(cutTimeouts * cluster.suspectAfterMs);
  const healMs = nowMs();
  await network.set([]);
  await assertHealed(made, healMs);
  const agreedMs = nowMs();
  for (const { id, lost } of made.changesSince(cutMs)) {
    const across = some.includes(id) ? others.length : some.length;
    assert.ok(lost <= across + 1, `${id}: ${lost} losses are more than expected`);
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
  assert.equal(from(few, stoppedMs, healMs).length, 0, 'agents that are cut off must not crawl');
  assert.ok(from(others, stoppedMs, healMs).length > 0, 'the majority must continue');
  gate.open();
  // Hosts whose owner and backup are both cut off are crawled anew on the other side.
  const overlapMax = from(few, Number.NEGATIVE_INFINITY, stoppedMs).length;
  assertCrawled(cluster, await cluster.finish(), { overlapMax });
}

/**
 * Each side keeps every promise by itself; towards the other side only before and after the cut.
 */
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
    'before the cut',
  );
  assert.equal(
    straysOf(cluster, ({ startMs }) => startMs > agreedMs),
    0,
    'after the agreement',
  );
  // Each page once for each side, and again if its request was aborted because the lease lapsed.
  const overlapMax = verdict.judgement.answered + abortedIn(verdict);
  assertCrawled(cluster, verdict, { overlapMax, strayMax: Number.POSITIVE_INFINITY });
}

/** A cut that can be bypassed costs nothing. */
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

describe('partitioned networks', { concurrency: 2 }, () => {
  linkFault('under quorum majority, the smaller side of a partition 2 | 3 stops', (t) =>
    assertMinorityStops(t, 5, ['a1', 'a2']),
  );

  linkFault('under quorum none, both sides of a partition 2 | 3 crawl, and then merge', (t) =>
    assertBothSidesCrawl(t, 5, ['a1', 'a2']),
  );

  linkFault('under quorum majority, an agent cut off from its peers stops', (t) =>
    assertMinorityStops(t, 3, ['a1']),
  );

  linkFault('under quorum none, an agent cut off from its peers continues, and then merges', (t) =>
    assertBothSidesCrawl(t, 3, ['a1']),
  );

  linkFault('an agent cut off from the web waits, and fails no page', async (t) => {
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
    // Requests that the agent sent and aborted during the cut reach the server after the healing.
    const strayMax = cluster.web.requests().filter(({ status }) => status === 0).length;
    // Allows for answers that were in flight at the cut.
    assertCrawled(cluster, verdict, { overlapMax: cluster.threads, strayMax });
    const errors = cluster.ids.flatMap((id) =>
      cluster
        .state(id)
        .state()
        .pages.filter(({ error }) => error !== null),
    );
    assert.deepEqual(errors, []);
  });

  linkFault('an agent that one peer does not hear stays a member if a third agent hears it', (t) =>
    assertWorkedAround(t, 3, () => [{ kind: 'mute', from: 'a1', to: 'a2' }]),
  );

  linkFault('two agents that are cut off only from each other stay members', (t) =>
    assertWorkedAround(t, 3, () => cutBetween('a1', 'a2')),
  );

  linkFault('five agents that each reach two others all stay members', (t) =>
    assertWorkedAround(t, 5, ({ ids }) =>
      ids.flatMap((id, k) => cutBetween(id, ids[(k + 2) % ids.length]!)),
    ),
  );
});
