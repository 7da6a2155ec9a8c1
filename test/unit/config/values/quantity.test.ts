import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration, parseSize } from '../../../../config/values/quantity.ts';

test('quantities are rounded, but never to nothing', () => {
  assert.deepEqual(['0ms', '0.6ms', '1.4ms', '0.0005s'].map(parseDuration), [0, 1, 1, 1]);
  assert.deepEqual(['0.4ms', '0.0001s', '1', 'ms'].map(parseDuration), [null, null, null, null]);
  assert.deepEqual(['0B', '0.5KiB', '0.3B', '7'].map(parseSize), [0, 512, null, null]);
});
