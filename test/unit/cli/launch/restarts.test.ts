import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayRestart, Restarts } from '../../../../agent/cli/launch/restarts.ts';

test('restarts: doubles the wait with each exit, up to five minutes', () => {
  const restarts = new Restarts();
  const waits = Array.from({ length: 11 }, () => restarts.waitMs('a1', 500) / 1000);
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
});

test('restarts: keeps a wait per agent, and resets it after a run of ten minutes', () => {
  const restarts = new Restarts();
  for (let end = 0; end < 5; end++) restarts.waitMs('a1', 0);
  assert.equal(restarts.waitMs('a2', 0), 1000);
  assert.equal(restarts.waitMs('a1', 600_000), 1000);
  assert.equal(restarts.waitMs('a1', 0), 2000);
});

test('restarts: does not restart an agent that ended normally or would be refused again', () => {
  const failed = (code: 1 | 3 | 4 | 5) => ({ kind: 'failed', code, reason: '' }) as const;
  assert.equal(mayRestart({ kind: 'complete' }, 'now'), false);
  assert.equal(mayRestart({ kind: 'left', reason: '' }, 'now'), false);
  assert.equal(mayRestart({ kind: 'interrupted' }, 'now'), false);
  assert.equal(mayRestart({ kind: 'unfinished', reason: '' }, 'now'), false);
  assert.equal(mayRestart(failed(5), 'never'), false);
  assert.equal(mayRestart(failed(4), 'never'), false);
  assert.equal(mayRestart(failed(4), 'now'), true);
  assert.equal(mayRestart(failed(4), 'before'), false);
  assert.equal(mayRestart(failed(5), 'before'), true);
  assert.equal(mayRestart(failed(3), 'never'), true);
  assert.equal(mayRestart({ kind: 'killed', signal: 'SIGKILL' }, 'never'), true);
  assert.equal(mayRestart({ kind: 'crashed', signal: 'SIGABRT' }, 'never'), true);
});
