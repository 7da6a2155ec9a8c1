import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { quantile, ratios, spread, spreadText } from '../../../bench/sample.ts';

describe('bench: figures', () => {
  it('bench: a median and its spread do not depend on the order', () => {
    const expected = { count: 4, median: 2.5, least: 1, most: 10, p95: 8.95 };
    const { p95, ...exact } = spread([10, 1, 3, 2]);
    assert.ok(Math.abs(p95 - expected.p95) < 1e-9, `${p95}`);
    assert.deepEqual({ ...exact, p95: expected.p95 }, expected);
  });

  it('bench: one disturbed run moves the median by no more than its neighbours', () => {
    assert.equal(spread([1, 1, 1, 1, 1000]).median, 1);
  });

  it('bench: a quantile lies between its neighbours', () => {
    assert.equal(quantile([0, 10], 0.25), 2.5);
    assert.equal(quantile([7], 0.95), 7);
  });

  it('bench: no values give no figures, rather than a zero', () => {
    assert.ok(Number.isNaN(spread([]).median));
    assert.equal(spreadText(spread([])), '-');
    assert.equal(spreadText(spread([Number.NaN])), '-');
  });

  it('bench: ratios are taken pair by pair, and a run without a partner is left out', () => {
    assert.deepEqual(ratios([2, 9, 5], [1, 3]), [2, 3]);
  });

  it('bench: a figure of several runs shows the least and the most', () => {
    assert.equal(spreadText(spread([1, 3, 2])), '2.00 (1.00-3.00)');
    assert.equal(spreadText(spread([1.26]), 1), '1.3');
  });
});
