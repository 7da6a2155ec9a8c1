import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StallWatch } from '../../../failure-detector/stall.ts';

const leaseMs = 6000;

test('stall: the first turn is never a stall, however late it comes', () => {
  const watch = new StallWatch({ leaseMs });
  assert.deepEqual(watch.turned({ mono: 99_999, wall: 99_999 }), { stalled: false, gapMs: 0 });
});

test('stall: a gap of at least the lease is a stall; a shorter gap only reports its length', () => {
  const watch = new StallWatch({ leaseMs });
  watch.turned({ mono: 0, wall: 0 });
  assert.deepEqual(watch.turned({ mono: 5999, wall: 5999 }), { stalled: false, gapMs: 5999 });
  assert.deepEqual(watch.turned({ mono: 11_999, wall: 11_999 }), { stalled: true, gapMs: 6000 });
  assert.deepEqual(watch.turned({ mono: 12_000, wall: 12_000 }), { stalled: false, gapMs: 1 });
});

test('stall: detects a suspension although the monotonic clock stopped', () => {
  const watch = new StallWatch({ leaseMs });
  watch.turned({ mono: 0, wall: 0 });
  assert.deepEqual(watch.turned({ mono: 1, wall: 28_800_000 }), {
    stalled: true,
    gapMs: 28_800_000,
  });
});

test('stall: detects a stall although the wall clock was set back', () => {
  const watch = new StallWatch({ leaseMs });
  watch.turned({ mono: 0, wall: 3_600_000 });
  assert.equal(watch.turned({ mono: 7000, wall: 0 }).stalled, true);
});

test('stall: refuses a lease of zero', () => {
  assert.throws(() => new StallWatch({ leaseMs: 0 }), RangeError);
});
