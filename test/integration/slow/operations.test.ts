// Plays some random sequences of operator actions from test/operations/; CI plays more of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOperations } from '../../operations/operations.ts';

for (const seed of [101, 102, 103]) {
  test(`operations: sequence ${seed} loses no page, and the advice of the product helps`, async () => {
    assert.equal(await runOperations(seed), null);
  });
}
