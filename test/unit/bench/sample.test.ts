import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { quantile, ratios, spread, spreadText } from '../../../bench/sample.ts';

describe('bench: figures', () => {
  it('bench: median and spread do not depend on the order of the values', () => {
    const expected = { count: 4, median: 2.5, least: 1, most: 10, p95: 8.95 };
    const { p95, ...exact } = spread([10, 1, 3, 2]);
    assert.ok(Math.abs(p95 - expected.p95) < 1e-9, `${p95}`);
    assert.deepEqual({ ...exact, p95: expected.p95 }, expected);
  });

  it('bench: one disturbed run does not change the median', () => {
    assert.equal(spread([1, 1, 1, 1, 1000]).median, 1);
  });

  it('bench: interpolates a quantile between neighbouring values', () => {
    assert.equal(quantile([0, 10], 0.25), 2.5);
    assert.equal(quantile([7], 0.95), 7);
  });

  it('bench: no values give NaN and a dash, not zero', () => {
    assert.ok(Number.isNaN(spread([]).median));
    assert.equal(spreadText(spread([])), '-');
    assert.equal(spreadText(spread([Number.NaN])), '-');
  });

  it('bench: ratios compare runs pair by pair, and omit a run without a partner', () => {
    assert.deepEqual(ratios([2, 9, 5], [1, 3]), [2, 3]);
  });

  it('bench: a figure of several runs shows the minimum and the maximum', () => {
    assert.equal(spreadText(spread([1, 3, 2])), '2.00 (1.00-3.00)');
    assert.equal(spreadText(spread([1.26]), 1), '1.3');
  });
});
