// Some of the sequences of operator actions that test/operations/ draws; CI plays more of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOperations } from '../../operations/operations.ts';

for (const seed of [101, 102, 103]) {
  test(`operations: sequence ${seed} loses nothing, and its advice helps`, async () => {
    assert.equal(await runOperations(seed), null);
  });
}
