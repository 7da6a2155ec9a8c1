import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turnSlice } from '../../../agent/runtime/timed-slice.ts';

test('turn slice: lasts ten milliseconds from each begin', () => {
  let now = 5;
  const slice = turnSlice(() => now);
  slice.begin();
  const seen = [now, 14, 15].map((at) => {
    now = at;
    return slice.mayGoOn();
  });
  slice.begin();
  assert.deepEqual([seen, slice.mayGoOn()], [[true, true, false], true]);
});
