// Tests the delay of the event loop that status reports, over a histogram that the test fills.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopDelay } from '../../../agent/monitor/loop-delay.ts';

/** A histogram whose maximum is the value of every percentile. */
function histogram() {
  let worst = Number.NaN;
  return {
    note: (ms: number) => {
      worst = Number.isNaN(worst) ? ms * 1e6 : Math.max(worst, ms * 1e6);
    },
    enable: () => true,
    disable: () => true,
    percentile: () => worst,
    reset: () => {
      worst = Number.NaN;
    },
  };
}

test('loop delay: is 0 before the first measurement', () => {
  assert.equal(new LoopDelay(histogram()).at(1000), 0);
});

test('loop delay: reports a stall for some seconds, and then no longer', () => {
  const source = histogram();
  const delay = new LoopDelay(source);
  delay.at(0);
  source.note(900);
  assert.equal(delay.at(1000), 900);
  assert.equal(delay.at(9000), 900);
  assert.equal(delay.at(10_500), 900);
  source.note(12);
  assert.equal(delay.at(15_000), 900, 'the previous measurement still counts');
  assert.equal(delay.at(21_000), 900);
  source.note(13);
  assert.equal(delay.at(25_000), 13);
});

test('loop delay: frequent readings do not hide a stall from a later reading', () => {
  const source = histogram();
  const delay = new LoopDelay(source);
  delay.at(0);
  source.note(700);
  for (let at = 250; at < 9000; at += 250) delay.at(at);
  source.note(10);
  assert.equal(delay.at(9100), 700);
});
