// Under `quorum: majority`, an agent on a machine of its own that was down when the others completed
// the crawl. It waits, and ends when the others are started again.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { call, run, Scratch, start, until, untilAsked, untilJoined } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

test('an agent that was down at the end is told of it when the others are started again', async (context) => {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(() => gate.stop());
  const config = await scratch.config(3, { seeds: [gate.seed] }, { quorum: 'majority' });
  const written = JSON.parse(fs.readFileSync(config, 'utf8'));
  // The late agent has no files in common with the others.
  const dataDir = path.join(scratch.directory, 'late');
  const late = scratch.write('late.json', { ...written, agent: { threads: 2, dataDir } });
  const started: ReturnType<typeof start>[] = [];
  const begin = (...args: string[]) => started[started.push(start(args)) - 1]!;
  context.after(() => {
    for (const { child } of started) child.kill('SIGKILL');
    scratch.clean();
  });

  const others = begin('launch', config, '--agents', 'a1,a2');
  const first = begin('agent', late, '--id', 'a3');
  await untilJoined(config, 'a1', 'a2', 'a3');
  first.child.kill('SIGKILL');
  await first.ended;
  gate.open();
  const { code, stderr } = await others.ended;
  assert.equal(code, 0, stderr);

  const alone = await run('agent', config, '--id', 'a1');
  assert.equal(alone.code, 0, 'an agent that saw the end and finds no late agent ends, alone');
  assert.match(alone.stderr, /starts to tell a3/);

  const a3 = begin('agent', late, '--id', 'a3');
  const waits = /has no majority: 1 of 3 agents is connected; start at least 1 of a1, a2 /;
  await until('it says what it waits for', () => waits.test(a3.stderr()));
  assert.match((await run('status', late)).stdout, waits);
  const again = await run('launch', config, '--agents', 'a1,a2');
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stderr, /the crawl is complete; starts to tell a3, which did not see its end/);
  const ended = await a3.ended;
  assert.equal(ended.code, 0, ended.stderr);
  for (const directory of [scratch.dataDir, dataDir]) {
    const note = JSON.parse(fs.readFileSync(path.join(directory, 'complete.json'), 'utf8'));
    assert.deepEqual(note.agents, ['a1', 'a2', 'a3']);
  }
  const third = await call(['agent', config, '--id', 'a1']);
  assert.match(third.stderr, /the crawl is complete already/);
});

test('an unblock after the end survives the crash of the only agent that has it', async (context) => {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(() => gate.stop());
  const config = await scratch.config(5, { seeds: [gate.seed] }, { quorum: 'majority' });
  const written = JSON.parse(fs.readFileSync(config, 'utf8'));
  const dataDir = path.join(scratch.directory, 'late');
  const late = scratch.write('late.json', { ...written, agent: { threads: 2, dataDir } });
  const started: ReturnType<typeof start>[] = [];
  const begin = (...args: string[]) => started[started.push(start(args)) - 1]!;
  context.after(() => {
    for (const { child } of started) child.kill('SIGKILL');
    scratch.clean();
  });
  const killed = async ({ child, ended }: ReturnType<typeof start>) => {
    child.kill('SIGKILL');
    await ended;
  };
  const { hostname } = new URL(gate.seed);
  const { order } = JSON.parse((await run('owner', config, hostname)).stdout);
  // It has no copy of the host.
  const id = order.filter((one: string) => one < 'a4')[2];
  const first = begin('launch', config, '--agents', 'a1,a2,a3');
  await untilJoined(config, 'a1', 'a2', 'a3');
  await run('block', config, hostname);
  gate.open();
  assert.equal((await first.ended).code, 0, first.stderr());

  // Without a majority, a4 tells another of the unblock, and both wait.
  const a4 = begin('agent', late, '--id', 'a4');
  await until('a4 waits', () => /has no majority: 1 of 5/.test(a4.stderr()));
  // It has not met an agent that has the block.
  assert.match((await run('block', late, hostname)).stdout, /a4: applied/);
  assert.match((await run('block', late, hostname, '--off')).stdout, /a4: applied/);
  const one = begin('agent', config, '--id', id);
  const told = async () =>
    new RegExp(`${id} +unblocked`).test((await run('status', config)).stdout);
  await untilAsked('it has the unblock', told);
  assert.match(one.stderr(), /the crawl is complete; starts to tell a4, a5/);
  await killed(one);
  await killed(a4);

  const again = begin('launch', config, '--agents', 'a1,a2,a3');
  const { code, stderr } = await again.ended;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^a\d: its blocks or its round are not those at the end of the crawl$/m);
  const pages = await run('query', config, 'SELECT count(*) FROM pages WHERE status = 200');
  assert.match(pages.stdout, /\b1\b/);
  assert.match((await run('agent', config, '--id', id)).stderr, /starts to tell a4, a5/);
});
