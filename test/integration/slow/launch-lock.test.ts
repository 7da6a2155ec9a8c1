// Concurrent launches on one data directory: one starts all agents, the others none. Commands that
// need the same lock wait for it.
// The slower of these tests; the others are in `test/integration/launch-lock.test.ts`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { lockFile } from '../../../agent/storage/file/database.ts';
import { launchedAgent } from '../../../bench/launched.ts';
import { call, run, Scratch, start, until } from '../cli-process.ts';
import { gated } from '../launch-lock-stage.ts';

/** Starts an agent as a launch does. */
function launched(t: TestContext, config: string, id: string) {
  const { line, env, input } = launchedAgent(config, id);
  const child = spawn(process.execPath, [...line], {
    env,
    stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
  });
  t.after(() => child.kill('SIGKILL'));
  child.stdin?.end(input);
  return child;
}

test('launch: refuses to start while another launch starts, names it and changes nothing', async (t) => {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const config = await scratch.config(0, { cluster: { agents: 2 } });
  fs.mkdirSync(scratch.dataDir);
  const lock = lockFile(scratch.dataDir, 'launch.lock', () => 'held');
  assert.ok(lock.ok);
  fs.writeFileSync(path.join(scratch.dataDir, 'launch.pid'), `${process.pid}\n`);
  const before = fs.readdirSync(scratch.dataDir);
  for (const flags of [[], ['--fresh']]) {
    const { code, stderr } = await call(['launch', config, ...flags]);
    assert.equal(code, 4, stderr);
    assert.match(
      stderr,
      new RegExp(`another launch \\(process ${process.pid}\\) is just starting`),
    );
  }
  assert.deepEqual(fs.readdirSync(scratch.dataDir), before);
  // After a killed launch, another process may have its number.
  fs.writeFileSync(path.join(scratch.dataDir, 'launch.pid'), '1\n');
  const { stderr } = await call(['launch', config]);
  assert.match(stderr, /another launch is just starting .*; wait for it, or end it$/m);
  lock.unlock();
});

test('launch: one of several concurrent launches starts all agents', async (t) => {
  const { gate, config } = await gated(t, 2);
  const launches = Array.from({ length: 3 }, () => start(['launch', config]));
  let refused = 0;
  const isRefused = launches.map(async ({ ended }) => {
    const { code, stderr } = await ended;
    if (code !== 0) assert.match(stderr, /another launch|in use by a running agent/);
    if (code === 4) refused++;
    return code;
  });
  await until('the end of all launches but one', () => refused === launches.length - 1);
  gate.open();
  assert.deepEqual((await Promise.all(isRefused)).toSorted(), [0, 4, 4]);
  for (const { stdout } of await Promise.all(launches.map(({ ended }) => ended))) {
    if (stdout !== '') assert.match(stdout, /^a1 .* complete$\n^a2 .* complete$/m);
  }
});

test('stop: reaches all agents of a launch that is just starting them', async (t) => {
  const { scratch, config } = await gated(t, 2);
  const launch = start(['launch', config]);
  const isThere = () => fs.existsSync(path.join(scratch.dataDir, 'launch.lock'));
  await until('the launch to start its agents', isThere);
  const { code, stdout, stderr } = await run('stop', config);
  assert.equal(code, 0, stderr);
  assert.deepEqual(stdout.trimEnd().split('\n').toSorted(), ['a1: applied', 'a2: applied']);
  const ended = await launch.ended;
  assert.equal(ended.code, 11, ended.stderr);
  assert.doesNotMatch(ended.stderr, /should have ended/);
});

test('resume: waits for agents that are being started and reaches them', async (t) => {
  const { scratch, gate, config } = await gated(t, 1);
  const first = start(['agent', config, '--id', 'a1']);
  await until('the agent', () => scratch.pid('a1') !== null);
  assert.equal((await run('pause', config)).code, 0);
  assert.equal((await run('stop', config)).code, 0);
  assert.equal((await first.ended).code, 11);

  // A launch holds this lock until its agents hold their own.
  const lock = lockFile(scratch.dataDir, 'launch.lock', () => 'held');
  assert.ok(lock.ok);
  const resume = run('resume', config);
  const agent = launched(t, config, 'a1');
  await until('the agent', () => scratch.pid('a1') !== null || agent.exitCode !== null);
  lock.unlock();
  const { code, stdout, stderr } = await resume;
  assert.deepEqual([code, stdout], [0, 'a1: applied\n'], stderr);
  assert.doesNotMatch(stderr, /state files were changed/);
  gate.open();
  assert.deepEqual(await once(agent, 'exit'), [0, null]);
});
