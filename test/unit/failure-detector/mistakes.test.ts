import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mistakes } from '../../../failure-detector/mistakes.ts';

const suspectAfterMs = 10_000;

test('mistakes: a mistake extends the time-out by half, at most twice', () => {
  const mistakes = new Mistakes(suspectAfterMs);
  assert.equal(mistakes.timeoutMs('b', 0), 10_000);
  mistakes.add('b', 0);
  assert.equal(mistakes.timeoutMs('b', 0), 15_000);
  for (let i = 0; i < 5; i++) mistakes.add('b', 0);
  assert.equal(mistakes.timeoutMs('b', 0), 20_000);
  assert.equal(mistakes.timeoutMs('c', 0), 10_000);
});

test('mistakes: time without mistakes removes the extensions one by one', () => {
  const mistakes = new Mistakes(suspectAfterMs);
  mistakes.add('b', 0);
  mistakes.add('b', 0);
  assert.equal(mistakes.timeoutMs('b', 49_999), 20_000);
  assert.equal(mistakes.timeoutMs('b', 50_000), 15_000);
  assert.equal(mistakes.timeoutMs('b', 99_999), 15_000);
  assert.equal(mistakes.timeoutMs('b', 100_000), 10_000);
});

test('mistakes: invented identifiers cannot exhaust the memory', () => {
  const mistakes = new Mistakes(suspectAfterMs);
  mistakes.add('b', 0);
  for (let i = 0; i < 1023; i++) mistakes.add(`x${i}`, 1);
  assert.equal(mistakes.timeoutMs('b', 2), 15_000);
  mistakes.add('one more', 1);
  assert.equal(mistakes.timeoutMs('b', 2), 10_000);
});
