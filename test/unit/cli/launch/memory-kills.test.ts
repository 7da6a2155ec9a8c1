import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { exitOf, verdictOf } from '../../../../agent/cli/launch/agent-exits.ts';
import { memoryKills } from '../../../../agent/cli/launch/memory-kills.ts';

test('memory: reads the kill count of the system, or null if there is none', (t) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-vmstat-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  const file = path.join(directory, 'vmstat');
  fs.writeFileSync(file, 'pgfault 12\noom_kill 3\noom_kill_other 4\n');
  assert.equal(memoryKills(file), 3);
  fs.writeFileSync(file, 'pgfault 12\n');
  assert.equal(memoryKills(file), null);
  assert.equal(memoryKills(path.join(directory, 'none')), null);
});

test('memory: an out-of-memory kill counts as a crash, a kill by a person does not', () => {
  const byPerson = exitOf(null, null, 'SIGKILL', false);
  const bySystem = exitOf(null, null, 'SIGKILL', true);
  assert.deepEqual(byPerson, { kind: 'killed', signal: 'SIGKILL' });
  assert.deepEqual(bySystem, { kind: 'crashed', signal: 'SIGKILL', outOfMemory: true });
  assert.equal(exitOf(null, null, 'SIGTERM', true).kind, 'killed');
  assert.equal(verdictOf([byPerson, byPerson], false), 11);
  assert.equal(verdictOf([bySystem, bySystem], false), 1);
  assert.equal(verdictOf([bySystem, { kind: 'complete' }], false), 0);
});
