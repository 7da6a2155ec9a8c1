// Concurrent launches on one data directory: one starts all agents, the others none. Commands that
// need the same lock wait for it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { lockFile } from '../../agent/storage/file/database.ts';
import { start, until } from './cli-process.ts';
import { gated } from './launch-lock-stage.ts';

test('an agent started by hand waits while a command withdraws a directive in the files', async (t) => {
  const { scratch, gate, config } = await gated(t, 1);
  gate.open();
  const directory = path.join(scratch.dataDir, 'a1');
  fs.mkdirSync(directory, { recursive: true });
  const locks = [
    lockFile(scratch.dataDir, 'launch.lock', () => 'held'),
    lockFile(directory, 'agent.lock', () => 'held'),
  ];
  const looked = path.join(scratch.directory, 'looked');
  const preload = scratch.write(
    'look.mjs',
    `import fs from 'node:fs';
    const { existsSync } = fs;
    fs.existsSync = (file) => {
      if (String(file).endsWith('launch.lock')) fs.writeFileSync(${JSON.stringify(looked)}, '');
      return existsSync(file);
    };`,
  );
  const agent = start(['agent', config, '--id', 'a1'], { NODE_OPTIONS: `--import=${preload}` });
  await until('the agent checks the launch lock', () => {
    assert.equal(agent.child.exitCode, null, agent.stderr());
    return fs.existsSync(looked);
  });
  for (const lock of locks) assert.ok(lock.ok && lock.unlock() === undefined);
  const { code, stderr } = await agent.ended;
  assert.equal(code, 0, stderr);
});
