// With --json stdout is always JSON, even if no agent runs or the command fails. Also tests how
// seed and kill report refusals.
// The slower of these tests; the others are in `test/integration/json-output.test.ts`.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Scratch, start, until } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

const asNobody = path.resolve(import.meta.dirname, '../as-nobody.ts');

const skip = process.getuid?.() === 0 ? false : 'only root can run a command as another user';

test('kill reports missing permission for an agent of another user', {
  skip,
}, async (context) => {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const config = await scratch.config(1, { seeds: [gate.seed] });
  start(['launch', config]);
  await until('a1', () => scratch.pid('a1') !== null);
  fs.chmodSync(scratch.directory, 0o755);
  const args = JSON.stringify([config, ['a1'], {}]);
  const kill = [asNobody, 'commands/kill-command.ts', 'kill', args];
  for (const mode of [0o700, 0o755]) {
    fs.chmodSync(scratch.dataDir, mode);
    const { status, stdout, stderr } = spawnSync(process.execPath, kill, { encoding: 'utf8' });
    assert.equal(status, 1, stderr);
    assert.match(stdout, /^a1: permission missing: .* run the command as that user or as root$/m);
  }
  assert.notEqual(scratch.pid('a1'), null);
});
