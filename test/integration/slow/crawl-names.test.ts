// The name identifies a crawl: no command acts on or reads a crawl of another name, neither by its
// endpoints nor in its data directory. An agent that has left is named until it returns.
// The slower of these tests; the others are in `test/integration/crawl-names.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, start } from '../cli-process.ts';
import { commandsOf, stage, untilStatus } from '../crawl-names-stage.ts';

type Staged = Awaited<ReturnType<typeof stage>>;

async function refusesRenamed({ renamed, gate, untouched, refused, scratch }: Staged) {
  for (const [command, ...words] of commandsOf(gate.seed)) {
    await refused(command, renamed, ...words);
  }
  await refused('kill', renamed, 'a1');
  await refused('query', renamed, 'SELECT 1');
  await refused('export', renamed);
  await refused('audit', renamed);
  for (const words of [
    ['launch', renamed],
    ['launch', renamed, '--fresh'],
    ['agent', renamed, '--id', 'a1'],
  ]) {
    assert.doesNotMatch(await refused(...words), /stop/);
  }
  assert.ok(scratch.pid('a1') !== null);
  await untouched();
}

/** Stops a2, kills and restarts a1, and starts a2 as the status says. */
async function reportsLeave({ config, launch, scratch }: Staged) {
  assert.equal((await run('stop', config, 'a2')).code, 0);
  await untilStatus(config, (agents) => {
    return agents.length === 1 && agents[0]!.recent.some(({ kind }) => kind === 'leave');
  });
  const { stdout } = await run('status', config);
  assert.match(stdout, /^each host has 0 of 1 copies: too few agents run$/m);
  process.kill(scratch.pid('a1')!, 'SIGKILL');
  await launch.ended;
  const a1 = start(['agent', config, '--id', 'a1']);
  await untilStatus(config, (agents) => agents.length === 1);
  const { code, stderr } = await run('status', config);
  assert.equal(code, 0, stderr);
  const paused = await run('pause', config);
  assert.deepEqual([paused.code, paused.stdout], [0, 'a1: applied\n'], paused.stderr);
  const again = await run('stop', config, 'a2');
  assert.deepEqual([again.code, again.stdout], [0, 'a2: left\n'], again.stderr);
  assert.match(
    stderr,
    /a2 has left; remove it from the config, or start it again:\n.* agent .*--id a2/,
  );
  assert.doesNotMatch(stderr, /where one does not run/);
  const a2 = start(/ubiring.* (agent .* --id a2)$/m.exec(stderr)![1]!.split(' '));
  await untilStatus(config, (agents) => agents.length === 2);
  assert.doesNotMatch((await run('status', config)).stderr, /has left/);
  assert.equal((await run('stop', config)).code, 0);
  assert.deepEqual([(await a1.ended).code, (await a2.ended).code], [11, 11]);
}

test('two agents, and a config with their endpoints and another name', async (context) => {
  const staged = await stage(context);
  await context.test(
    'no command with a renamed config acts on the running crawl or reads its files',
    () => refusesRenamed(staged),
  );
  await context.test(
    'status and receipts report that an agent has left, also after the others were restarted',
    () => reportsLeave(staged),
  );
  await context.test(
    'no command with a renamed config reads the files of the ended crawl',
    async () => {
      const { renamed, gate, refused } = staged;
      await refused('query', renamed, 'SELECT 1');
      await refused('explain', renamed, gate.seed);
    },
  );
});

test('kademlia: a stop of all agents says which one has left earlier', async (context) => {
  const { config, launch } = await stage(context, { cluster: { overlay: 'kademlia' } });
  assert.equal((await run('stop', config, 'a2')).code, 0);
  await untilStatus(config, (agents) => {
    return agents.length === 1 && agents[0]!.recent.some(({ kind }) => kind === 'leave');
  });
  const { code, stdout, stderr } = await run('stop', config);
  assert.deepEqual(
    [code, stdout.trim().split('\n').toSorted()],
    [0, ['a1: applied', 'a2: left']],
    stderr,
  );
  await launch.ended;
});
