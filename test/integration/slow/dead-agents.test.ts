// Agents that die under a launch. The launch says how to restart each, or restarts it with
// --restart; if all crash, it does not report an interruption. An agent exits if its state file is
// deleted.
// The slower of these tests; the others are in `test/integration/dead-agents.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import type net from 'node:net';
import { describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { listening, run, start, until } from '../cli-process.ts';
import { stage } from '../dead-agents-stage.ts';

describe('dead agents', { concurrency: 2 }, () => {
  test('launch --restart retries if another program has taken the port of the agent', async (context) => {
    const { scratch, gate, config, running } = await stage(context, 1);
    const launch = start(['launch', config, '--restart']);
    await until('a1', running);
    const [{ listen }] = JSON.parse(fs.readFileSync(config, 'utf8')).cluster.agents;
    // The launch notices the exit only after the port is taken.
    launch.child.kill('SIGSTOP');
    process.kill(scratch.pid('a1')!, 'SIGKILL');
    let taken: net.Server | undefined;
    while (!taken) taken = await listening(Number(new URL(listen).port)).catch(() => undefined);
    context.after(() => taken.close());
    launch.child.kill('SIGCONT');
    const said = /a1 failed \(5\).*; none of this launch is left; it is started again in 2 s/;
    await until('the message of the launch', () => {
      assert.equal(launch.child.exitCode, null, launch.stderr());
      return said.test(launch.stderr());
    });
    taken.close();
    gate.open();
    const { code, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
  });

  test('launch --restart ends with 11 if it is stopped while an agent waits for its restart', async (context) => {
    const { scratch, config, running } = await stage(context, 1);
    const launch = start(['launch', config, '--restart']);
    await until('a1', running);
    process.kill(scratch.pid('a1')!, 'SIGABRT');
    await until('the message of the launch', () =>
      /a1 crashed .*started again/.test(launch.stderr()),
    );
    launch.child.kill('SIGTERM');
    assert.equal((await launch.ended).code, 11);
  });

  test('launch ends with 1 and names a remedy if all agents crash', async (context) => {
    const { scratch, config, running } = await stage(context, 2);
    const launch = start(['launch', config]);
    await until('both agents', running);
    for (const id of ['a1', 'a2']) process.kill(scratch.pid(id)!, 'SIGABRT');
    const { code, stdout, stderr } = await launch.ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /a1 crashed \(SIGABRT\): out of memory or of open files.*ulimit -n/);
    assert.match(stdout, /^a2 .* crashed \(SIGABRT\)$/m);
  });

  test('an agent ends with 4 if its state file or directory is deleted, and the others continue', async (context) => {
    const { scratch, gate, config, running } = await stage(context, 3);
    const launch = start(['launch', config]);
    await until('all agents', running);
    for (const [path, id, left] of [
      ['a2/state.sqlite', 'a2', '2 agents of this launch continue'],
      ['a3', 'a3', '1 agent of this launch continues'],
    ] as const) {
      fs.rmSync(`${scratch.dataDir}/${path}`, { recursive: true });
      const end = new RegExp(`${id}.*state\\.sqlite was deleted or replaced`);
      await until(`the end of ${id}`, () => end.test(launch.stderr()));
      const failed = `${id} failed (4); ${left}; to start it`;
      await until(`the message about ${id}`, () => launch.stderr().includes(failed));
    }
    gate.open();
    const { code, stdout, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^a1 .* complete$/m);
  });

  test('an agent that is started after the end says only that the crawl is complete', async (context) => {
    const { scratch, gate, config, running } = await stage(context, 4);
    const launch = start(['launch', config]);
    await until('all agents', running);
    const { stdout } = await run('owner', config, gate.seed);
    const { order } = JSON.parse(stdout) as { order: string[] };
    const queued = () => {
      const state = new Database(`${scratch.dataDir}/${order[0]}/state.sqlite`, { readonly: true });
      try {
        return state.prepare('SELECT count(*) FROM frontier').pluck().get() === 1;
      } finally {
        state.close();
      }
    };
    await until('the queue of the owner', queued);
    process.kill(scratch.pid(order[0]!)!, 'SIGKILL');
    gate.open();
    const ended = await launch.ended;
    assert.equal(ended.code, 0, ended.stderr);
    // The last one has no copy of the host.
    const again = await run('agent', config, '--id', order[3]!);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /the crawl is complete already/);
    assert.doesNotMatch(again.stderr, /not complete/);
  });
});
