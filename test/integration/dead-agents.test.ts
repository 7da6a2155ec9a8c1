// Agents that die under a launch. The launch says how to restart each, or restarts it with
// --restart; if all crash, it does not report an interruption. An agent exits if its state file is
// deleted.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { start, until } from './cli-process.ts';
import { stage } from './dead-agents-stage.ts';

describe('dead agents', { concurrency: 2 }, () => {
  test('launch names the command that restarts a killed agent', async (context) => {
    const { scratch, gate, config, running } = await stage(context, 2);
    const launch = start(['launch', config, '--data', scratch.dataDir]);
    await until('both agents', running);
    process.kill(scratch.pid('a2')!, 'SIGKILL');
    const words =
      /a2 was killed \(SIGKILL\); 1 agent of this launch continues; to start it again: ubiring (agent .*)/;
    await until('the remedy', () => words.test(launch.stderr()));
    const again = start(words.exec(launch.stderr())![1]!.split(' '));
    const joined = () => /"agent is listening"/.test(again.stderr());
    await until('a2 again', joined);
    gate.open();
    const ends = await Promise.all([launch.ended, again.ended]);
    for (const { code, stderr } of ends) assert.equal(code, 0, stderr);
  });

  test('launch --restart restarts a killed agent, and the crawl ends with 0', async (context) => {
    const { scratch, gate, config, running } = await stage(context, 1);
    const launch = start(['launch', config, '--restart']);
    await until('a1', running);
    for (const wait of ['1 s', '2 s']) {
      const pid = scratch.pid('a1')!;
      process.kill(pid, 'SIGKILL');
      const said = `a1 was killed (SIGKILL); none of this launch is left; it is started again in ${wait}`;
      await until('the message of the launch', () => launch.stderr().includes(said));
      await until('a1 again', () => ![null, pid].includes(scratch.pid('a1')));
    }
    gate.open();
    const { code, stdout, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^a1 .* complete$/m);
  });
});
