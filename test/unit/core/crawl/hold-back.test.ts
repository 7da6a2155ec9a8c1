// Which hosts are held back while the outbox fills: the hosts that fill it, long before the others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HoldBack } from '../../../../agent/core/crawl/hold-back.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';

const now = { mono: 0, wall: 0 };

/** The bound is 1,000. Pages of `noisy.test` wait for `open` entries, those of others for none. */
function holdBack(
  waiting: number,
  open: number,
  more: { isFull?: boolean; paused?: boolean } = {},
) {
  return new HoldBack({
    settings: { bounds: { ...BOUNDS, outbox: 1000 } },
    store: { outboxCount: () => waiting },
    settlement: {
      isFull: () => more.isFull ?? false,
      openOf: (host) => (host === 'noisy.test' ? open : 0),
    },
    directives: { paused: more.paused ?? false },
  });
}

const cases = [
  { name: 'below half, holds no host', waiting: 499, open: 499, noisy: false, calm: false },
  { name: 'above half, holds a host above its share', waiting: 500, open: 21, noisy: true },
  { name: 'above half, holds no host within its share', waiting: 500, open: 20, noisy: false },
  { name: 'at the bound, holds a host with any entry', waiting: 1000, open: 1, noisy: true },
  { name: 'at the bound, holds no host without entries', waiting: 1999, open: 0, noisy: false },
];

for (const { name, waiting, open, noisy } of cases) {
  test(`hold back: ${name}`, () => {
    const held = holdBack(waiting, open).at(now);
    assert.equal(held.host('noisy.test'), noisy);
    assert.equal(held.host('calm.test'), false);
    assert.equal(held.all, false);
  });
}

test('hold back: holds all hosts at twice the bound, if copies are late, and while paused', () => {
  assert.equal(holdBack(2000, 0).at(now).all, true);
  assert.equal(holdBack(0, 0, { isFull: true }).at(now).all, true);
  assert.equal(holdBack(0, 0, { paused: true }).at(now).all, true);
});
