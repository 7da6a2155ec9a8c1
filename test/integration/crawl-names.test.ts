// The name is the identity of a crawl: no command acts on, or reads, another one, be it found by its
// endpoints or in the data directory.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { run, Scratch, start, until, untilAsked } from './cli-process.ts';
import { startGate } from './gate-server.ts';

/** Every command that goes to running agents. */
const commandsOf = (seed: string): readonly (readonly [command: string, ...words: string[]])[] => [
  ['status'],
  ['pause'],
  ['resume'],
  ['block', '127.0.0.9'],
  ['block', '127.0.0.9', '--off'],
  ['delay', '127.0.0.9', '500'],
  ['seed', `${seed}more`],
  ['explain', seed],
  ['stop', 'a2'],
  ['stop'],
];

interface Status {
  readonly id: string;
  readonly course: string;
  readonly paused: boolean;
  readonly members: readonly unknown[];
  readonly recent: readonly { readonly kind: string }[];
}

/** Asks for the status until the agents that answer are as wanted. */
function untilStatus(config: string, is: (agents: readonly Status[]) => boolean) {
  return untilAsked('the agents are as wanted', async () => {
    const { stdout, code } = await run('status', config, '--json');
    return code === 0 && is((JSON.parse(stdout) as { agents: Status[] }).agents);
  });
}

/** Two agents of the crawl `cli-test`, and a config with the same endpoints and another name. */
async function stage(context: TestContext, { dataDir }: { dataDir?: string } = {}) {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const config = await scratch.config(2, { seeds: [gate.seed] });
  const written = JSON.parse(fs.readFileSync(config, 'utf8'));
  const agent = {
    ...written.agent,
    ...(dataDir && { dataDir: path.join(scratch.directory, dataDir) }),
  };
  const renamed = scratch.write('renamed.json', { ...written, agent, name: 'another' });
  const launch = start(['launch', config]);
  await until('both agents', () => ['a1', 'a2'].every((id) => scratch.pid(id) !== null));
  await untilStatus(config, (agents) => {
    return agents.length === 2 && agents.every(({ members }) => members.length === 1);
  });
  const untouched = async () => {
    const { stdout, code } = await run('status', config, '--json');
    assert.equal(code, 0);
    const { agents, orders } = JSON.parse(stdout) as { agents: Status[]; orders: unknown[] };
    assert.deepEqual(
      agents.map(({ course, paused }) => [course, paused]),
      [
        ['crawling', false],
        ['crawling', false],
      ],
    );
    assert.deepEqual(orders, []);
  };
  const refused = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(...words);
    assert.equal(code, 4, `${words.join(' ')}: ${stdout}${stderr}`);
    assert.match(stderr, /belongs to crawl 'cli-test', not 'another'; restore 'name: cli-test'/);
    assert.equal(stdout, '', words.join(' '));
    return stderr;
  };
  const end = async () => {
    assert.equal((await run('stop', config)).code, 0);
    assert.equal((await launch.ended).code, 11);
  };
  return { config, renamed, gate, untouched, refused, end, scratch };
}

test('no command is obeyed by the agents of another crawl at the same endpoints', async (context) => {
  const { renamed, gate, untouched, refused, end } = await stage(context, { dataDir: 'own' });
  for (const [command, ...words] of commandsOf(gate.seed)) {
    await refused(command, renamed, ...words);
  }
  await untouched();
  await end();
});

test('a renamed config neither acts on its crawl nor reads its files while it runs', async (context) => {
  const { renamed, gate, untouched, refused, end, scratch } = await stage(context);
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
  await end();
  await refused('query', renamed, 'SELECT 1');
  await refused('explain', renamed, gate.seed);
});

test('status says of an agent that has left that it did', async (context) => {
  const { config, end } = await stage(context);
  assert.equal((await run('stop', config, 'a2')).code, 0);
  await untilStatus(config, (agents) => {
    return agents.length === 1 && agents[0]!.recent.some(({ kind }) => kind === 'leave');
  });
  const { code, stderr } = await run('status', config);
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /a2 has left; remove it from the config, or start it again:\n.* agent .*--id a2/,
  );
  assert.doesNotMatch(stderr, /where one does not run/);
  const a2 = start(/ubiring.* (agent .* --id a2)$/m.exec(stderr)![1]!.split(' '));
  await untilStatus(config, (agents) => agents.length === 2);
  assert.doesNotMatch((await run('status', config)).stderr, /has left/);
  await end();
  assert.equal((await a2.ended).code, 11);
});
