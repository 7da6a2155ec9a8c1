import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FailureDetector } from '../../failure-detector/detector.ts';
import { GossipCluster } from '../unit/failure-detector/gossip-cluster.ts';

const suspectAfterMs = 2000;
/** The ratio that config/config.ts uses. */
const leaseMs = 0.6 * suspectAfterMs;
const heartbeatMs = 200;
const runMs = 20_000;

/** The loss and delay of each directed link in each tenth of the run. */
const weather = fc.record({
  lossPercent: fc.constantFrom(0, 20, 100),
  delayMs: fc.integer({ min: 0, max: 3000 }),
});
const schedule = fc.record({
  // Clocks are up to a fifth fast or slow; the factor 0.6 allows a quarter each way.
  rates: fc.array(fc.double({ min: 0.8, max: 1.2, noNaN: true }), { minLength: 2, maxLength: 4 }),
  weathers: fc.array(weather, { minLength: 12, maxLength: 120 }),
  dice: fc.infiniteStream(fc.nat(99)),
});
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;

function clusterOf({ rates, weathers, dice }: Schedule): GossipCluster {
  const link = (from: number, to: number, nowMs: number): number | null => {
    const tenth = Math.floor((10 * nowMs) / runMs);
    const { lossPercent, delayMs } = weathers[(from * 31 + to * 17 + tenth) % weathers.length]!;
    return (dice.next().value as number) < lossPercent ? null : delayMs;
  };
  return new GossipCluster({ rates, heartbeatMs, suspectAfterMs, leaseMs, link });
}

/** How often a removed agent still had a lease from the agent that removed it. */
function outlivedTakeovers(cluster: GossipCluster): number {
  let outlived = 0;
  cluster.runUntil(runMs, () => {
    // Echoes sent before a removal may arrive long after it, so every removal is checked at each
    // step.
    for (const removal of cluster.removals) {
      const now = cluster.clock(removal.of);
      if (cluster.lease(removal.of).holds(String(removal.by), now)) outlived++;
    }
  });
  return outlived;
}

test('lease: never outlives a takeover, whatever the links and clocks do', () => {
  fc.assert(
    fc.property(schedule, (of) => {
      assert.equal(outlivedTakeovers(clusterOf(of)), 0);
    }),
    { numRuns: 60 },
  );
});

test('lease: a lease as long as the time-out would outlive takeovers, so the check is effective', () => {
  // One clock is slow and the other fast, and nothing passes from 0 to 1 after the fifth second.
  const outlivedWith = (ofMs: number): number =>
    outlivedTakeovers(
      new GossipCluster({
        rates: [0.8, 1.2],
        heartbeatMs,
        suspectAfterMs,
        leaseMs: ofMs,
        link: (from, _to, nowMs) => (from === 0 && nowMs > 5000 ? null : 0),
      }),
    );
  assert.ok(outlivedWith(suspectAfterMs) > 0);
  assert.equal(outlivedWith(leaseMs), 0);
});

test('detector: all other members suspect a dead member in time, whatever happened before', () => {
  // The last news passes through at most three other agents, each of which adds a heartbeat and a
  // delay; the slowest clock extends the wait.
  const boundMs = 3 * (3000 + heartbeatMs / 0.8) + suspectAfterMs / 0.8 + 50;
  fc.assert(
    fc.property(schedule, fc.nat(), (of, pick) => {
      const cluster = clusterOf(of);
      const dead = pick % of.rates.length;
      const killedMs = runMs / 2;
      cluster.runUntil(killedMs);
      cluster.kill(dead);
      cluster.runUntil(killedMs + boundMs);
      const removers = cluster.removals.filter((one) => one.of === dead).map((one) => one.by);
      for (let i = 0; i < of.rates.length; i++) {
        if (i !== dead) assert.ok(removers.includes(i), `agent ${i} never suspects ${dead}`);
      }
    }),
    { numRuns: 30 },
  );
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('news' as const), counter: fc.nat(50) }),
  fc.record({ kind: fc.constant('mistake' as const) }),
  fc.record({ kind: fc.constant('excuse' as const), graceMs: fc.nat(3000) }),
  fc.record({ kind: fc.constant('forget' as const) }),
  fc.record({ kind: fc.constant('watch' as const), counter: fc.nat(50) }),
);
const timedSteps = fc.array(fc.record({ step, gapMs: fc.nat(6000) }), { maxLength: 60 });

test('detector: suspects no member before the time-out, and every member without news within twice that', () => {
  fc.assert(
    fc.property(timedSteps, (steps) => {
      const detector = new FailureDetector({ suspectAfterMs });
      let nowMs = 0;
      let silentSinceMs: number | undefined;
      let excusedToMs = 0;
      let counter = 0;
      for (const { step, gapMs } of steps) {
        nowMs += gapMs;
        if (silentSinceMs !== undefined) {
          const suspected = detector.suspected(nowMs).includes('b');
          const silentMs = nowMs - Math.max(silentSinceMs, excusedToMs);
          if (silentMs < suspectAfterMs) assert.equal(suspected, false);
          if (silentMs >= 2 * suspectAfterMs) assert.equal(suspected, true);
        }
        const watched = silentSinceMs !== undefined;
        if (step.kind === 'watch') {
          detector.watch('b', step.counter, nowMs);
          [silentSinceMs, counter, excusedToMs] = [nowMs, step.counter, 0];
        } else if (step.kind === 'news') {
          const counts = watched && step.counter > counter;
          assert.equal(detector.news('b', step.counter, nowMs), counts);
          if (counts) [silentSinceMs, counter] = [nowMs, step.counter];
        } else if (step.kind === 'mistake') {
          detector.mistake('b', nowMs);
        } else if (step.kind === 'excuse') {
          detector.excuse(nowMs, step.graceMs);
          if (watched) excusedToMs = Math.max(excusedToMs, nowMs - step.graceMs);
        } else {
          detector.forget('b');
          silentSinceMs = undefined;
        }
      }
    }),
    { numRuns: 300 },
  );
});
