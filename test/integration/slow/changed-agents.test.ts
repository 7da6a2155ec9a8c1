// `cluster.agents` is changed while the crawl runs. Commands reach all running agents, even if they
// are not in the config, and say how to start the others.
// The slower of these tests; the others are in `test/integration/changed-agents.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { stage } from '../changed-agents-stage.ts';
import { run, start, until } from '../cli-process.ts';

for (const numbered of [true, false]) {
  const kind = numbered ? 'numbered' : 'listed';

  test(`status names the command that adds an agent to a running ${kind} cluster`, async (context) => {
    const { config, agents, setAgents, inCluster, launch } = await stage(context, numbered);
    setAgents(numbered ? 3 : agents);
    const status = await run('status', config);
    assert.equal(status.code, 0, status.stderr);
    const command = /ubiring.* (agent .* --id a3)$/m.exec(status.stderr)?.[1];
    assert.ok(command, status.stderr);
    for (const verb of ['pause', 'resume']) {
      const { code, stdout, stderr } = await run(verb, config);
      assert.match(stdout, /^a1: applied$[\s\S]*^a2: applied$/m, stderr);
      // A listed a3 has an address and counts as not reached; a numbered a3 has no port yet.
      assert.equal(code, numbered ? 0 : 1, stderr);
    }
    const a3 = start(command.split(' '));
    await inCluster('a1', 'a2', 'a3');
    const stop = await run('stop', config);
    assert.equal(stop.code, 0, stop.stdout + stop.stderr);
    assert.equal((await a3.ended).code, 11);
    assert.equal((await launch.ended).code, 11);
  });

  test(`stop reaches an agent that was removed from the config of a ${kind} cluster, and it hands over`, async (context) => {
    const { config, agents, setAgents, launch, gate, scratch } = await stage(context, numbered);
    setAgents(numbered ? 1 : agents.slice(0, 1));
    const status = JSON.parse((await run('status', config, '--json')).stdout);
    assert.deepEqual(
      [status.agents.map(({ id }: { id: string }) => id), status.unreachable],
      [['a1', 'a2'], []],
    );
    const left = await run('stop', config, 'a2');
    assert.deepEqual([left.code, left.stdout], [0, 'a2: applied\n'], left.stderr);
    await until('the exit of a2', () => launch.stderr().includes('a2: left'));
    gate.open();
    const { code, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    const audit = await run('audit', config);
    assert.equal(audit.code, 0, audit.stdout + audit.stderr);
    assert.ok(fs.existsSync(scratch.dataDir));
  });
}

test('an agent that was refused because of a mistyped crawl name joins with the correct name', async (context) => {
  const { scratch, gate, config, launch } = await stage(context, false);
  const mistyped = { ...JSON.parse(fs.readFileSync(config, 'utf8')), name: 'typo' };
  const refused = await run('agent', scratch.write('typo.json', mistyped), '--id', 'a3');
  assert.equal(refused.code, 5, refused.stderr);
  const audit = await run('audit', config, '--json');
  assert.equal(audit.code, 0, audit.stderr);
  const { agents } = JSON.parse(audit.stdout) as { agents: { agent: string; inView: boolean }[] };
  const named = agents.map(({ agent, inView }) => [agent, inView]);
  assert.deepEqual(named, [
    ['a1', true],
    ['a2', true],
  ]);
  const a3 = start(['agent', config, '--id', 'a3']);
  await until('a3 has joined', () => {
    assert.equal(a3.child.exitCode, null, a3.stderr());
    return /agent is listening/.test(a3.stderr());
  });
  gate.open();
  for (const { code, stderr } of [await launch.ended, await a3.ended]) {
    assert.equal(code, 0, stderr);
  }
  assert.equal((await run('audit', config)).code, 0);
});

test('commands reach and kill agents whose names changed in the config', async (context) => {
  const { config, agents, setAgents, launch } = await stage(context, false);
  const renamed = agents.map((entry: { id: string }) => ({ ...entry, id: `b${entry.id}` }));
  setAgents(renamed);
  const paused = await run('pause', config);
  assert.match(paused.stdout, /^a1: applied$/m, paused.stderr);
  const killed = await run('kill', config, 'a2');
  assert.deepEqual([killed.code, killed.stdout], [0, 'a2: killed\n'], killed.stderr);
  await until('the exit of a2', () => launch.stderr().includes('a2 was killed'));
  const stop = await run('stop', config);
  assert.match(stop.stdout, /^a1: applied$/m, stop.stderr);
  assert.equal((await launch.ended).code, 11);
});
