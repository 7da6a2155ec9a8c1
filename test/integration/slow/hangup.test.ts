// SIGHUP: an agent reopens its log file, as after a rotation, and continues. A launch stops its
// agents and ends with 11 if its terminal is closed, although it cannot write any more.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Scratch, start, until } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

const main = path.resolve(import.meta.dirname, '../../../agent/main.ts');

async function stage(context: TestContext) {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  return { scratch, gate, config: await scratch.config(2, { seeds: [gate.seed] }) };
}

test('an agent of a launch or started by hand reopens its log on SIGHUP and continues', async (context) => {
  const { scratch, gate, config } = await stage(context);
  const launch = start(['launch', config, '--agents', 'a1']);
  const byHand = start(['agent', config, '--id', 'a2']);
  const ids = ['a1', 'a2'];
  await until('both agents', () => ids.every((id) => scratch.pid(id) !== null));
  for (const id of ids) {
    const log = path.join(scratch.dataDir, id, 'agent.log');
    fs.renameSync(log, `${log}.1`);
    process.kill(scratch.pid(id)!, 'SIGHUP');
    await until(`a new log of ${id}`, () => fs.existsSync(log) && fs.statSync(log).size > 0);
    assert.match(fs.readFileSync(log, 'utf8').split('\n')[0]!, /"the log file was reopened"/);
  }
  gate.open();
  const ends = await Promise.all([launch.ended, byHand.ended]);
  assert.deepEqual(
    ends.map(({ code }) => code),
    [0, 0],
  );
});

const skip =
  spawnSync('script', ['--version']).status === 0 ? false : 'the system has no script(1)';

test('launch ends with 11 if its terminal is closed', { skip }, async (context) => {
  const { scratch, config } = await stage(context);
  const codeFile = path.join(scratch.directory, 'code');
  const pidFile = path.join(scratch.directory, 'pid');
  const command = `'${process.execPath}' '${main}' launch '${config}'`;
  // The shell survives its terminal and records the exit code of the launch.
  const line = `trap '' HUP; ${command} & echo $! > '${pidFile}'; wait $!; echo $? > '${codeFile}'`;
  const terminal = spawn('script', ['-qc', line, '/dev/null'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await until('both agents', () => ['a1', 'a2'].every((id) => scratch.pid(id) !== null));
  terminal.kill('SIGKILL');
  await once(terminal, 'close');
  // An interactive shell sends SIGHUP to its jobs.
  process.kill(Number(fs.readFileSync(pidFile, 'utf8')), 'SIGHUP');
  await until('the end', () => fs.existsSync(codeFile) && fs.statSync(codeFile).size > 0);
  assert.equal(fs.readFileSync(codeFile, 'utf8').trim(), '11');
  assert.deepEqual([scratch.pid('a1'), scratch.pid('a2')], [null, null]);
});
