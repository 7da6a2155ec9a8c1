import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rate } from '../../../agent/monitor/agent-status.ts';

test('rate: the first reading covers the time since the start', () => {
  assert.equal(new Rate(5_000).at(25_000, 100), 5);
});

test('rate: frequent readings cover the last ten seconds', () => {
  const rate = new Rate(0);
  for (let s = 1; s <= 30; s++) rate.at(s * 1000, 100);
  for (let s = 31; s <= 35; s++) rate.at(s * 1000, 100 + (s - 30) * 20);
  assert.equal(rate.at(35_000, 200), 10);
});

test('rate: a reading after a pause covers the time since the last one', () => {
  const rate = new Rate(0);
  rate.at(1000, 10);
  assert.equal(rate.at(61_000, 310), 5);
});
