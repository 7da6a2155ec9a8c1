import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allowedPairs, coveringArray } from '../../pairs/covering-array.ts';
import { excluded, factors } from './covering-array-stage.ts';

describe('covering array', () => {
  test('the allowed pairs are all but the excluded ones', () => {
    // 3*2 + 3*2 + 3*4 + 2*2 + 2*4 + 2*4
    assert.equal(allowedPairs(factors, []).length, 44);
    assert.equal(allowedPairs(factors, excluded).length, 42);
  });

  test('the same seed gives the same rows, another seed different rows', () => {
    const rows = coveringArray(7, factors, excluded);
    assert.deepEqual(coveringArray(7, factors, excluded), rows);
    assert.notDeepEqual(coveringArray(8, factors, excluded), rows);
  });

  test('rejects a level that excludes every level of another factor', () => {
    const none = [
      { a: '1', b: 'x' },
      { a: '1', b: 'y' },
    ];
    assert.throws(() => coveringArray(1, factors, none), /no row can hold/);
  });
});
