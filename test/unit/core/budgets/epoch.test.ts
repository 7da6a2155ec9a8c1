// The order of epochs: by number, then by owner.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isLater, NO_EPOCH, nextEpoch } from '../../../../agent/core/budgets/epoch.ts';

describe('epochs of the page limit', () => {
  it('the next one is later than the last, whichever owner began that', () => {
    let last = NO_EPOCH;
    for (const id of ['z1', 'a1', 'a1', 'b2']) {
      const next = nextEpoch(last, id, 7);
      assert.ok(isLater(next, last), `${next} ${last}`);
      assert.ok(!isLater(last, next));
      last = next;
    }
    assert.equal(last, '4@b2.7');
    assert.ok(isLater(nextEpoch('9@a1.1', 'a1', 1), '9@a1.1'), 'by number, not by text');
  });

  it('an absurd number, after which no epoch could follow, is not later than any', () => {
    assert.ok(!isLater('999999999999999@x', NO_EPOCH));
    assert.ok(isLater('1000000000@x', NO_EPOCH));
  });

  it('of two with the same number exactly one is later', () => {
    assert.ok(isLater('3@b.1', '3@a.1'));
    assert.ok(!isLater('3@a.1', '3@b.1'));
    assert.ok(!isLater('3@a.1', '3@a.1'));
    assert.ok(!isLater(NO_EPOCH, NO_EPOCH));
  });
});
