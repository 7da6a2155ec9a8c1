import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elapsedMs, type Instant } from '../../../failure-detector/instant.ts';
import { Lease } from '../../../failure-detector/lease.ts';

const wallStart = 1_700_000_000_000;

/** Both clocks advanced by `ms` since the start. */
function at(ms: number): Instant {
  return { mono: ms, wall: wallStart + ms };
}

function echoedLease(): Lease {
  const lease = new Lease({ leaseMs: 6000 });
  lease.sent(1, at(0));
  lease.sent(2, at(1000));
  lease.echoed('g', 2);
  return lease;
}

test('instant: uses the clock that advanced more, and never returns a negative duration', () => {
  assert.equal(elapsedMs(at(0), at(500)), 500);
  assert.equal(elapsedMs({ mono: 0, wall: 0 }, { mono: 10, wall: 3_600_000 }), 3_600_000);
  assert.equal(elapsedMs({ mono: 0, wall: 9000 }, { mono: 10, wall: 0 }), 10);
  assert.equal(elapsedMs(at(500), at(0)), 0);
});

test('lease: starts when the echoed heartbeat was sent, not when the echo arrived', () => {
  const lease = echoedLease();
  assert.equal(lease.remainingMs('g', at(4000)), 3000);
  assert.equal(lease.holds('g', at(6999)), true);
  assert.equal(lease.holds('g', at(7000)), false);
  assert.equal(lease.remainingMs('g', at(9000)), 0);
});

test('lease: a member without an echo grants no lease', () => {
  const lease = echoedLease();
  assert.equal(lease.holds('h', at(1000)), false);
  assert.equal(lease.remainingMs('h', at(1000)), 0);
});

test('lease: accepts only a higher counter of a heartbeat that was sent', () => {
  const lease = echoedLease();
  lease.echoed('g', 1);
  assert.equal(lease.remainingMs('g', at(1000)), 6000);
  lease.echoed('g', 99);
  assert.equal(lease.remainingMs('g', at(1000)), 6000);
  lease.sent(3, at(2000));
  lease.echoed('g', 3);
  assert.equal(lease.remainingMs('g', at(2000)), 6000);
});

test('lease: an echo of an expired heartbeat grants nothing', () => {
  const lease = new Lease({ leaseMs: 6000 });
  lease.sent(1, at(0));
  lease.echoed('g', 1);
  assert.equal(lease.holds('g', at(6000)), false);
});

test('lease: forgets old heartbeats, and their echoes grant nothing', () => {
  const lease = new Lease({ leaseMs: 6000 });
  for (let counter = 0; counter <= 1024; counter++) lease.sent(counter, at(counter));
  lease.echoed('g', 0);
  assert.equal(lease.holds('g', at(1024)), false);
  lease.echoed('g', 1);
  assert.equal(lease.holds('g', at(1024)), true);
});

test('lease: a counter that does not increase is a broken invariant', () => {
  const lease = echoedLease();
  assert.throws(() => lease.sent(2, at(3000)), /counter/);
});

test('lease: a forgotten member grants nothing until it echoes again', () => {
  const lease = echoedLease();
  assert.equal(lease.hasEchoOf('g'), true);
  lease.forget('g');
  assert.equal(lease.hasEchoOf('g'), false);
  assert.equal(lease.holds('g', at(1500)), false);
  lease.echoed('g', 1);
  assert.equal(lease.hasEchoOf('g'), true);
  assert.equal(lease.remainingMs('g', at(1500)), 4500);
});

test('lease: a new incarnation starts without a lease and may restart its counter', () => {
  const lease = echoedLease();
  lease.reset();
  assert.equal(lease.holds('g', at(1500)), false);
  lease.echoed('g', 2);
  assert.equal(lease.holds('g', at(1500)), false);
  lease.sent(1, at(1500));
  lease.echoed('g', 1);
  assert.equal(lease.holds('g', at(1600)), true);
});

test('lease: a wall clock set forwards ends the current lease and no later one', () => {
  const lease = echoedLease();
  const hourMs = 3_600_000;
  const later = (ms: number): Instant => ({ mono: ms, wall: wallStart + ms + hourMs });
  assert.equal(lease.holds('g', later(1500)), false);
  lease.sent(3, later(2000));
  lease.echoed('g', 3);
  assert.equal(lease.remainingMs('g', later(3000)), 5000);
});

test('lease: a wall clock set back does not extend the lease', () => {
  const lease = echoedLease();
  const later = (ms: number): Instant => ({ mono: ms, wall: wallStart - 3_600_000 });
  assert.equal(lease.holds('g', later(6999)), true);
  assert.equal(lease.holds('g', later(7000)), false);
});

test('lease: ends during a suspension in which the monotonic clock stopped', () => {
  const lease = echoedLease();
  assert.equal(lease.holds('g', { mono: 1100, wall: wallStart + 8 * 3_600_000 }), false);
});

test('lease: refuses a duration of zero', () => {
  assert.throws(() => new Lease({ leaseMs: 0 }), RangeError);
});
