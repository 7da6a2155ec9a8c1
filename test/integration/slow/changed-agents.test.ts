// `cluster.agents` is changed while the crawl runs. Commands reach all running agents, even if they
// are not in the config, and say how to start the others.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { stage } from '../changed-agents-stage.ts';
import { run, start, until } from '../cli-process.ts';

type Staged = Awaited<ReturnType<typeof stage>>;

/** Adds a3 to the config, and starts it with the command that `status` names. */
async function adds({ config, agents, setAgents, inCluster }: Staged, numbered: boolean) {
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
  return a3;
}

/** Removes a2 and a3 from the config, and stops a2. */
async function removes({ config, agents, setAgents, launch }: Staged, numbered: boolean) {
  setAgents(numbered ? 1 : agents.slice(0, 1));
  const status = JSON.parse((await run('status', config, '--json')).stdout);
  assert.deepEqual(
    [status.agents.map(({ id }: { id: string }) => id), status.unreachable],
    [['a1', 'a2', 'a3'], []],
  );
  const left = await run('stop', config, 'a2');
  assert.deepEqual([left.code, left.stdout], [0, 'a2: applied\n'], left.stderr);
  await until('the exit of a2', () => launch.stderr().includes('a2: left'));
}

async function isRefusedUnderAnotherName({ scratch, config }: Staged) {
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
}

test('agents of a numbered cluster are added and removed while it runs', async (context: TestContext) => {
  const staged = await stage(context, true);
  const { config, gate, launch } = staged;
  let a3: ReturnType<typeof start>;
  await context.test('status names the command that adds an agent', async () => {
    a3 = await adds(staged, true);
  });
  await context.test('stop reaches an agent that was removed, and it hands over', async () => {
    await removes(staged, true);
    gate.open();
    for (const { code, stderr } of [await launch.ended, await a3.ended]) {
      assert.equal(code, 0, stderr);
    }
    const audit = await run('audit', config);
    assert.equal(audit.code, 0, audit.stdout + audit.stderr);
  });
});

test('agents of a listed cluster are added, removed and renamed while it runs', async (context: TestContext) => {
  const staged = await stage(context, false);
  const { config, agents, setAgents, launch } = staged;
  let a3: ReturnType<typeof start>;
  await context.test('an agent with a mistyped crawl name is refused, and is no agent', () =>
    isRefusedUnderAnotherName(staged),
  );
  await context.test('status names the command that adds it with the correct name', async () => {
    a3 = await adds(staged, false);
  });
  await context.test('stop reaches an agent that was removed', () => removes(staged, false));
  await context.test(
    'commands reach and kill agents whose names changed in the config',
    async () => {
      setAgents(agents.map((entry: { id: string }) => ({ ...entry, id: `b${entry.id}` })));
      const paused = await run('pause', config);
      assert.match(paused.stdout, /^a1: applied$[\s\S]*^a3: applied$/m, paused.stderr);
      const killed = await run('kill', config, 'a3');
      assert.deepEqual([killed.code, killed.stdout], [0, 'a3: killed\n'], killed.stderr);
      assert.equal((await a3.ended).code, null);
      const stop = await run('stop', config);
      assert.match(stop.stdout, /^a1: applied$/m, stop.stderr);
      assert.equal((await launch.ended).code, 11);
      const audit = await run('audit', config);
      assert.equal(audit.code, 0, audit.stdout + audit.stderr);
    },
  );
});

test('stop reaches an agent that only another config has, and no receipt needs it then', async (context) => {
  const { scratch, config, agents, setAgents, launch, inCluster } = await stage(context, false);
  const more = JSON.parse(fs.readFileSync(config, 'utf8'));
  more.agent.dataDir = 'elsewhere';
  const a3 = start(['agent', scratch.write('more.json', more), '--id', 'a3']);
  setAgents(agents.slice(0, 2));
  await inCluster('a1', 'a2', 'a3');
  const unknown = await run('stop', config, 'a4');
  assert.equal(unknown.code, 2, unknown.stderr);
  assert.match(unknown.stderr, /no agent a4 in .*, known: a1, a2, a3; check the ID/);
  const left = await run('stop', config, 'a3');
  assert.deepEqual([left.code, left.stdout], [0, 'a3: applied\n'], left.stderr);
  assert.equal((await a3.ended).code, 0);
  const completion = path.join(scratch.directory, 'elsewhere', 'complete.json');
  assert.equal(fs.existsSync(completion), false, 'to leave is not to complete');
  await inCluster('a1', 'a2');
  setAgents(agents);
  const receipt = await run('pause', config);
  assert.deepEqual([receipt.code, receipt.stdout], [0, 'a1: applied\na2: applied\n']);
  assert.doesNotMatch((await run('status', config)).stdout, /^pause .*a3/m);
  assert.equal((await run('stop', config)).code, 0);
  assert.equal((await launch.ended).code, 11);
});
