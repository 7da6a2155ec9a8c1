import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureDetector } from '../../../failure-detector/detector.ts';
import { GossipCluster } from './gossip-cluster.ts';

const suspectAfterMs = 10_000;

function watching(id = 'b', counter = 0, monoMs = 0): FailureDetector {
  const detector = new FailureDetector({ suspectAfterMs });
  detector.watch(id, counter, monoMs);
  return detector;
}

/** Asserts that 'b' is suspected from this time on, and not before. */
function suspectedFrom(detector: FailureDetector, monoMs: number): void {
  assert.deepEqual(detector.suspected(monoMs - 1), []);
  assert.deepEqual(detector.suspected(monoMs), ['b']);
}

test('detector: suspects a member without heartbeats at its time-out and not before', () => {
  const detector = watching();
  suspectedFrom(detector, 10_000);
  assert.deepEqual(detector.suspected(50_000), ['b']);
});

test('detector: accepts news only with a higher counter, and only about watched members', () => {
  const detector = watching('b', 5);
  assert.equal(detector.news('b', 5, 4000), false);
  assert.equal(detector.news('b', 4, 4000), false);
  assert.equal(detector.news('stranger', 9, 4000), false);
  assert.equal(detector.counter('stranger'), undefined);
  assert.equal(detector.lastNewsMs('b'), 0);
  assert.equal(detector.news('b', 6, 4000), true);
  assert.equal(detector.counter('b'), 6);
  assert.equal(detector.lastNewsMs('b'), 4000);
  assert.deepEqual(detector.suspected(13_999), []);
  assert.deepEqual(detector.suspected(14_000), ['b']);
});

test('detector: a forgotten member is not suspected, and news does not revive it', () => {
  const detector = watching();
  detector.forget('b');
  assert.equal(detector.news('b', 7, 100), false);
  assert.deepEqual(detector.suspected(99_999), []);
});

test('detector: watching a member again restarts its time-out with the new counter', () => {
  const detector = watching('b', 500, 0);
  detector.watch('b', 1, 9000);
  assert.equal(detector.counter('b'), 1);
  assert.deepEqual(detector.suspected(18_999), []);
  assert.equal(detector.news('b', 2, 18_999), true);
});

test('detector: a mistake extends the time-out that is already running', () => {
  const detector = watching();
  detector.mistake('b', 10_000);
  suspectedFrom(detector, 15_000);
});

test('detector: remembers mistakes across forget and the next watch', () => {
  const detector = watching();
  detector.forget('b');
  detector.mistake('b', 11_000);
  detector.watch('b', 1, 12_000);
  suspectedFrom(detector, 27_000);
});

test('detector: a mistake does not decay while only the longer time-out spares the member', () => {
  const detector = watching();
  detector.mistake('b', 0);
  for (let counter = 1; counter <= 100; counter++) {
    const nowMs = counter * 14_000;
    assert.deepEqual(detector.suspected(nowMs), [], `silence ${counter}`);
    assert.equal(detector.news('b', counter, nowMs), true);
  }
});

/** A member with one mistake at 0 and news every second until 45 s; the mistake decays at 50 s. */
function heardUntil45s(): FailureDetector {
  const detector = watching();
  detector.mistake('b', 0);
  for (let counter = 1; counter <= 45; counter++) detector.news('b', counter, counter * 1000);
  return detector;
}

test('detector: a running time-out keeps the length with which it began', () => {
  const detector = heardUntil45s();
  suspectedFrom(detector, 60_000);
});

test('detector: does not count the duration of its own stall against any member', () => {
  const detector = watching();
  detector.watch('c', 0, 0);
  detector.news('c', 1, 9500);
  detector.excuse(12_000, 3000);
  assert.deepEqual(detector.suspected(12_000), []);
  assert.equal(detector.lastNewsMs('b'), 9000);
  assert.equal(detector.lastNewsMs('c'), 9500);
  suspectedFrom(detector, 19_000);
});

test('detector: an excuse never advances a suspicion', () => {
  const detector = heardUntil45s();
  // A time-out that began at 50 s would have the normal length.
  detector.excuse(52_000, 1000);
  suspectedFrom(detector, 66_000);
  detector.excuse(53_000, 30_000);
  suspectedFrom(detector, 66_000);
});

test('detector: refuses a time-out of zero', () => {
  assert.throws(() => new FailureDetector({ suspectAfterMs: 0 }), RangeError);
  assert.throws(() => watching().excuse(0, -1), RangeError);
});

const quickLinks = {
  heartbeatMs: 1000,
  suspectAfterMs,
  leaseMs: 6000,
  link: (): number => 50,
};

test('detector: all members suspect a dead member within the time-out, and suspect no other', () => {
  const cluster = new GossipCluster({ ...quickLinks, rates: [1, 1, 1, 1, 1] });
  cluster.runUntil(20_000);
  assert.deepEqual(cluster.removals, []);
  cluster.kill(3);
  cluster.runUntil(60_000);
  assert.deepEqual(
    cluster.removals.map(({ by, of }) => [by, of]).sort(),
    [0, 1, 2, 4].map((by) => [by, 3]),
  );
  for (const { atMs } of cluster.removals) {
    // The last news is at most one heartbeat before the death and one relay after it.
    assert.ok(atMs > 28_900 && atMs <= 31_200, `removed at ${atMs}`);
  }
});

test('detector: relayed news keeps a member alive that an agent does not hear directly', () => {
  const cutBetween = (from: number, to: number): boolean => from + to === 1;
  const link = (from: number, to: number): number | null => (cutBetween(from, to) ? null : 50);
  const bridged = new GossipCluster({ ...quickLinks, link, rates: [1, 1, 1] });
  bridged.runUntil(120_000);
  assert.deepEqual(bridged.removals, []);
  const alone = new GossipCluster({ ...quickLinks, link, rates: [1, 1] });
  alone.runUntil(120_000);
  assert.equal(alone.removals.length, 2);
});

test('detector: relayed echoes alone do not keep a lease', () => {
  const link = (from: number, to: number): number | null => (from + to === 1 ? null : 50);
  const cluster = new GossipCluster({ ...quickLinks, link, rates: [1, 1, 1] });
  cluster.runUntil(30_000);
  assert.equal(cluster.lease(0).holds('1', cluster.clock(0)), false);
  assert.equal(cluster.lease(0).holds('2', cluster.clock(0)), true);
});

test('detector: relays of an old counter do not keep a dead member alive', () => {
  const detector = watching('b', 7, 0);
  for (let nowMs = 100; nowMs < 10_000; nowMs += 100) detector.news('b', 7, nowMs);
  assert.deepEqual(detector.suspected(10_000), ['b']);
});

test('detector: soon stops suspecting a slow member that it suspected wrongly', () => {
  // Heartbeats pass only every 18 s: less than twice the time-out.
  const link = (from: number, _to: number, nowMs: number): number | null =>
    from === 1 && nowMs % 18_000 > 1000 ? null : 50;
  const cluster = new GossipCluster({ ...quickLinks, link, rates: [1, 1] });
  let answered = 0;
  cluster.runUntil(3_600_000, () => {
    for (; answered < cluster.removals.length; answered++) {
      const { by, of } = cluster.removals[answered]!;
      cluster.detector(by).mistake(String(of), cluster.clock(by).mono);
      cluster.readmit(by, of);
    }
  });
  assert.ok(answered >= 1 && answered <= 3, `${answered} mistakes in an hour`);
  const bySlow = cluster.removals.filter(({ by }) => by === 1);
  assert.deepEqual(bySlow, []);
});
