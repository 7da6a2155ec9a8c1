// Agents that die under a launch: it says how to start each again, or does so itself with --restart;
// where all of them crash it does not call that an interruption. A state file that is deleted under
// its agent ends the agent.
// The slower of these tests; the others are in `test/integration/dead-agents.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import type net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { listening, start, until } from '../cli-process.ts';
import { stage } from '../dead-agents-stage.ts';

describe('agents that die', { concurrency: 2 }, () => {
  test('launch --restart tries again where the port of the agent was taken meanwhile', async (context) => {
    const { scratch, gate, config, running } = await stage(context, 1);
    const launch = start(['launch', config, '--restart']);
    await until('a1', running);
    const [{ listen }] = JSON.parse(fs.readFileSync(config, 'utf8')).cluster.agents;
    // The launch hears of the end only when the port is taken.
    launch.child.kill('SIGSTOP');
    process.kill(scratch.pid('a1')!, 'SIGKILL');
    let taken: net.Server | undefined;
    while (!taken) taken = await listening(Number(new URL(listen).port)).catch(() => undefined);
    context.after(() => taken.close());
    launch.child.kill('SIGCONT');
    const said = /a1 failed \(5\).*; none is left; it is started again in 2 s/;
    await until('its word', () => {
      assert.equal(launch.child.exitCode, null, launch.stderr());
      return said.test(launch.stderr());
    });
    taken.close();
    gate.open();
    const { code, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
  });

  test('launch --restart: a stop while an agent waits for its start ends the launch', async (context) => {
    const { scratch, config, running } = await stage(context, 1);
    const launch = start(['launch', config, '--restart']);
    await until('a1', running);
    process.kill(scratch.pid('a1')!, 'SIGABRT');
    await until('its word', () => /a1 crashed .*started again/.test(launch.stderr()));
    launch.child.kill('SIGTERM');
    assert.equal((await launch.ended).code, 11);
  });

  test('launch: ends with 1 where all agents crash, with the remedy', async (context) => {
    const { scratch, config, running } = await stage(context, 2);
    const launch = start(['launch', config]);
    await until('both', running);
    for (const id of ['a1', 'a2']) process.kill(scratch.pid(id)!, 'SIGABRT');
    const { code, stdout, stderr } = await launch.ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /a1 crashed \(SIGABRT\): out of memory or of open files.*ulimit -n/);
    assert.match(stdout, /^a2 .* crashed \(SIGABRT\)$/m);
  });

  for (const gone of ['state.sqlite', '.'] as const) {
    const what = gone === '.' ? 'directory' : 'state file';
    test(`an agent whose ${what} is deleted ends with 4, and the others go on`, async (context) => {
      const { scratch, gate, config, running } = await stage(context, 2);
      const launch = start(['launch', config]);
      await until('both', running);
      fs.rmSync(path.join(scratch.dataDir, 'a2', gone), { recursive: true });
      const end = /a2.*state\.sqlite was deleted or replaced/;
      await until('the end of a2', () => end.test(launch.stderr()));
      await until('its word', () => /a2 failed \(4\); 1 go on; to start it/.test(launch.stderr()));
      gate.open();
      const { code, stdout, stderr } = await launch.ended;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^a1 .* complete$/m);
    });
  }
});
