import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateHistory, sparkline } from '../../../../agent/cli/top/rate-history.ts';

/** @param samples - times in seconds, with rates */
function historyOf(...samples: readonly (readonly [at: number, rate: number])[]): RateHistory {
  const history = new RateHistory();
  for (const [at, rate] of samples) history.add(at * 1000, new Map([['a1', rate]]));
  return history;
}

test('rate history: a column is the mean of its part of the last minute', () => {
  const history = historyOf([141, 1], [150, 3], [190, 5]);
  assert.deepEqual(history.of('a1', 200_000, 3), [2, 3, 5]);
});

test('rate history: before the first sample there is no rate, and later the last one holds', () => {
  assert.deepEqual(historyOf([170, 4]).of('a1', 200_000, 4), [null, 4, 4, 4]);
  assert.deepEqual(historyOf([100, 7], [130, 8]).of('a1', 200_000, 2), [8, 8]);
  assert.deepEqual(historyOf([100, 7]).of('a2', 200_000, 2), [null, null]);
});

test('rate history: an agent that returns begins anew', () => {
  const history = historyOf([100, 9]);
  history.add(110_000, new Map());
  history.add(120_000, new Map([['a1', 1]]));
  assert.deepEqual(history.of('a1', 120_000, 2), [null, 1]);
});

test('sparkline: the highest block is the maximum, and nothing at all is blank', () => {
  assert.equal(sparkline([null, 0, 1, 4, 8], 8), ' ▁▁▄█');
  assert.equal(sparkline([0, 0], 0), '▁▁');
});
