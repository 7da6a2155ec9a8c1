// How a soak run decides that a figure grows, tested with generated series whose trend is known.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Limit, limitOf, type Sample, slopeOf, trendOf } from '../../../chaos/soak-slopes.ts';
import { Random } from '../../../simulation/random.ts';

const minuteMs = 60_000;
const warmUpMs = 10 * minuteMs;
const limit: Limit = { perHour: 5, swing: 10 };

/** A sample every 15 seconds, and a new process every `lifeMinutes`. */
function series(
  minutes: number,
  value: (hours: number, ageMinutes: number) => number,
  lifeMinutes = Number.POSITIVE_INFINITY,
): Sample[] {
  return Array.from({ length: minutes * 4 }, (_, k) => {
    const at = k / 4;
    const life = Number.isFinite(lifeMinutes) ? Math.floor(at / lifeMinutes) : 0;
    const age = Number.isFinite(lifeMinutes) ? at % lifeMinutes : at;
    return { atMs: at * minuteMs, life, ageMs: age * minuteMs, value: value(at / 60, age) };
  });
}

const noise = (random: Random, size: number) => size * (random.next() - 0.5);

test('soak: a straight line gives its exact slope with a narrow interval', () => {
  const { perHour, low, high } = slopeOf(
    series(240, (hours) => 100 + 7 * hours),
    warmUpMs,
  );
  for (const value of [perHour, low, high]) assert.ok(Math.abs(value - 7) < 1e-6, `${value}`);
});

test('soak: noise without growth is flat, with a slope near zero', () => {
  const random = new Random(1);
  const slope = slopeOf(
    series(360, () => 100 + noise(random, 20)),
    warmUpMs,
  );
  assert.ok(slope.low <= 0 && slope.high >= 0 && Math.abs(slope.perHour) < 1);
  assert.equal(trendOf(slope, limit), 'flat');
});

test('soak: detects growth beyond the limit under larger noise', () => {
  const random = new Random(2);
  const leak = series(360, (hours) => 100 + 12 * hours + noise(random, 40));
  assert.equal(trendOf(slopeOf(leak, warmUpMs), limit), 'grows');
});

test('soak: ignores growth while a process is young, and a single outburst', () => {
  const warming = series(360, (_, age) => 100 + 50 * Math.min(1, age / 10));
  assert.equal(trendOf(slopeOf(warming, warmUpMs), limit), 'flat');
  const outburst = series(360, (hours) => (hours > 5.8 ? 1000 : 100));
  assert.equal(trendOf(slopeOf(outburst, warmUpMs), limit), 'flat');
});

test('soak: processes that warm up after each restart are flat, unless each is larger', () => {
  const warming = series(360, (_, age) => 100 + 8 * age, 7);
  assert.ok(Math.abs(slopeOf(warming, warmUpMs).perHour) < 1);
  assert.equal(trendOf(slopeOf(warming, warmUpMs), limit), 'flat');
  const larger = series(360, (hours, age) => 100 + 8 * age + 12 * hours, 7);
  assert.equal(trendOf(slopeOf(larger, warmUpMs), limit), 'grows');
});

test('soak: the span excludes samples of young processes', () => {
  const { spanMs } = slopeOf(
    series(60, () => 1),
    warmUpMs,
  );
  assert.ok(spanMs > 49 * minuteMs && spanMs < 53 * minuteMs, `${spanMs / minuteMs}`);
});

test('soak: a sawtooth over hours is flat, and a leak under it is detected', () => {
  const sawtooth = (hours: number) => 120 * ((hours * 60) % 7) * (1 / 7);
  const heap: Limit = { perHour: 6, swing: 128 };
  const flat = slopeOf(series(340, sawtooth), warmUpMs);
  assert.equal(trendOf(flat, heap), 'flat', JSON.stringify(flat));
  const leak = slopeOf(
    series(340, (hours) => sawtooth(hours) + 30 * hours),
    warmUpMs,
  );
  assert.equal(trendOf(leak, heap), 'grows', JSON.stringify(leak));
});

test('soak: a few minutes of samples give a wide interval, a high limit and no growth', () => {
  const random = new Random(3);
  const short = slopeOf(
    series(5, () => 100 + noise(random, 20)),
    minuteMs,
  );
  assert.notEqual(trendOf(short, limit), 'grows');
  assert.ok(short.high - short.low > 20, 'the interval is wide');
  assert.ok(limitOf(limit, short.spanMs) > 100, 'a swing within minutes does not count as growth');
  assert.ok(limitOf(limit, 6 * 60 * minuteMs) < 6);
});

test('soak: without samples the slope is NaN and the trend is unclear', () => {
  const slope = slopeOf([], warmUpMs);
  assert.ok(Number.isNaN(slope.perHour));
  assert.equal(trendOf(slope, limit), 'unclear');
});
