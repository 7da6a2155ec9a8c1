// One of the sequences of operator actions that test/operations/ draws; `.ci/run` plays more of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOperations } from '../operations/operations.ts';

const seed = 101;

test(`operations: sequence ${seed} loses nothing, and its advice helps`, async () => {
  assert.equal(await runOperations(seed), null);
});
