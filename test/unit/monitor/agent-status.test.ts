import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rate } from '../../../agent/monitor/agent-status.ts';

test('rate: asked for the first time, it is that since the start', () => {
  assert.equal(new Rate(5_000).at(25_000, 100), 5);
});

test('rate: asked for again and again, it is that of the last ten seconds', () => {
  const rate = new Rate(0);
  for (let s = 1; s <= 30; s++) rate.at(s * 1000, 100);
  for (let s = 31; s <= 35; s++) rate.at(s * 1000, 100 + (s - 30) * 20);
  assert.equal(rate.at(35_000, 200), 10);
});

test('rate: asked for after a while, it is that since the last time', () => {
  const rate = new Rate(0);
  rate.at(1000, 10);
  assert.equal(rate.at(61_000, 310), 5);
});
