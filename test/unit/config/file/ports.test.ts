import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import type { Config } from '../../../../config/config.ts';
import { resolveAgents } from '../../../../config/file/ports.ts';
import { parseEndpoint } from '../../../../config/values/agent-endpoint.ts';
import { good, newDirectory, plain } from '../written-config.ts';

function cluster(agents: number, dataDir = path.join(newDirectory(), 'data')): Config {
  return good(`${plain}cluster: { agents: ${agents} }\n`, { dataDir });
}

async function placed(config: Config, allocate = true) {
  const resolved = await resolveAgents(config, { allocate });
  assert.ok(resolved.ok, resolved.ok ? '' : resolved.message);
  return resolved.agents.map(({ id, listen }) => ({ id, port: parseEndpoint(listen)?.port ?? 0 }));
}

async function refused(config: Config, allocate: boolean) {
  const resolved = await resolveAgents(config, { allocate });
  assert.ok(!resolved.ok);
  return resolved;
}

const fileOf = (config: Config) => path.join(config.agent.dataDir, 'cluster.json');

test('ports: uses a list of agents unchanged, and writes nothing', async () => {
  const config = good(`${plain}cluster: { agents: [{ id: x, listen: "tcp://h:1" }] }\n`);
  const resolved = await resolveAgents(config, { allocate: true });
  assert.ok(resolved.ok);
  assert.deepEqual(resolved.agents, config.cluster.agents);
  assert.equal(fs.existsSync(config.agent.dataDir), false);
});

test('ports: turns a number into agents a1 to aN on free ports, which stay the same', async () => {
  const config = cluster(5);
  const first = await placed(config);
  assert.deepEqual(
    first.map(({ id }) => id),
    ['a1', 'a2', 'a3', 'a4', 'a5'],
  );
  assert.equal(new Set(first.map(({ port }) => port)).size, 5);
  for (const { port } of first) {
    const server = net.createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    await new Promise((resolve) => server.close(resolve));
  }
  assert.deepEqual(await placed(config), first);
  assert.deepEqual(await placed(config, false), first);
  assert.deepEqual(fs.readdirSync(config.agent.dataDir), ['cluster.json']);
});

test('ports: does not assign an occupied port', async () => {
  const dataDir = path.join(newDirectory(), 'data');
  const before = await placed(cluster(3, dataDir));
  fs.rmSync(path.join(dataDir, 'cluster.json'));
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(before[1]!.port, '127.0.0.1', resolve));
  try {
    const after = await placed(cluster(3, dataDir));
    assert.equal(after[0]!.port, before[0]!.port);
    assert.notEqual(after[1]!.port, before[1]!.port);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

test('ports: without allocation, reports missing ports and writes nothing', async () => {
  const config = cluster(2);
  const problem = await refused(config, false);
  assert.equal(problem.code, 'cluster-not-launched');
  assert.match(problem.message, /have no ports yet/);
  assert.equal(fs.existsSync(config.agent.dataDir), false);
});

test('ports: a smaller number uses the first agents, a larger one keeps their ports', async () => {
  const config = cluster(4);
  const { dataDir } = config.agent;
  const four = await placed(config);
  assert.deepEqual(await placed(cluster(2, dataDir)), four.slice(0, 2));
  const raised = await resolveAgents(cluster(6, dataDir), { allocate: false });
  assert.ok(raised.ok);
  assert.deepEqual([raised.agents.length, raised.unplaced], [4, ['a5', 'a6']]);
  const six = await placed(cluster(6, dataDir));
  assert.deepEqual(six.slice(0, 4), four);
  assert.equal(new Set(six.map(({ port }) => port)).size, 6);
  assert.deepEqual(await placed(config, false), four);
  assert.deepEqual(await placed(cluster(6, dataDir), false), six);
});

test('ports: keeps the ports of a replaced cluster.json when the number grows', async () => {
  const config = cluster(2);
  const { dataDir } = config.agent;
  await placed(config);
  await placed(cluster(3, dataDir));
  const other = [
    { id: 'a1', port: 7001 },
    { id: 'a2', port: 7002 },
  ];
  fs.writeFileSync(fileOf(config), JSON.stringify({ agents: other }));
  const three = await placed(cluster(3, dataDir));
  assert.deepEqual(three.slice(0, 2), other);
});

test('ports: prefers a port that an agent recorded, even if cluster.json is lost', async () => {
  const config = cluster(2);
  const before = await placed(config);
  const { dataDir } = config.agent;
  fs.mkdirSync(path.join(dataDir, 'a2'));
  fs.writeFileSync(path.join(dataDir, 'a2', 'agent.endpoint'), 'tcp://127.0.0.1:7102\n');
  const recorded = { id: 'a2', port: 7102 };
  assert.deepEqual(await placed(config, false), [before[0], recorded]);
  fs.rmSync(fileOf(config));
  const resolved = await resolveAgents(config, { allocate: false });
  assert.ok(resolved.ok);
  assert.deepEqual([resolved.agents.map(({ id }) => id), resolved.unplaced], [['a2'], ['a1']]);
  assert.deepEqual((await placed(config))[1], recorded);
  assert.deepEqual(await placed(config, false), await placed(config));
});

test('ports: assigns another port to a moved agent, and keeps the other ports', async () => {
  const config = cluster(3);
  const before = await placed(config);
  const { dataDir } = config.agent;
  const record = path.join(dataDir, 'a2', 'agent.endpoint');
  fs.mkdirSync(path.dirname(record));
  fs.writeFileSync(record, 'tcp://127.0.0.1:7102\n');
  const resolved = await resolveAgents(config, { allocate: true, moving: ['a2'] });
  assert.ok(resolved.ok);
  const after = await placed(config, false);
  assert.deepEqual([after[0], after[2]], [before[0], before[2]]);
  assert.ok(![7102, before[1]!.port].includes(after[1]!.port));
  assert.equal(resolved.agents[1]!.listen, `tcp://127.0.0.1:${after[1]!.port}`);
  assert.deepEqual(fs.readdirSync(dataDir).sort(), ['a2', 'cluster.json']);
  assert.deepEqual((await placed(cluster(4, dataDir))).slice(0, 3), after);
});

test('ports: allocates none while an agent with an unknown port runs', async () => {
  const config = cluster(2);
  const resolved = await resolveAgents(config, {
    allocate: true,
    isRunning: (directory) => path.basename(directory) === 'a2',
  });
  assert.ok(!resolved.ok);
  assert.equal(resolved.code, 'cluster-running');
  assert.match(resolved.message, /cluster\.json is missing .* a2, which runs/);
  assert.equal(fs.existsSync(fileOf(config)), false);
});

for (const [what, text] of [
  ['empty', ''],
  ['truncated', '{"agents":[{"id":"a1","po'],
  ['of another structure', '{"agents":{"a1":7101}}'],
  ['out of order', '{"agents":[{"id":"a2","port":7101}]}'],
  ['with a port twice', '{"agents":[{"id":"a1","port":7101},{"id":"a2","port":7101}]}'],
  ['with an invalid port', '{"agents":[{"id":"a1","port":70000}]}'],
  ['binary', '\u0000\u0001'],
] as const) {
  test(`ports: refuses a cluster.json that is ${what}, and does not change it`, async () => {
    const config = cluster(2);
    fs.mkdirSync(config.agent.dataDir);
    fs.writeFileSync(fileOf(config), text);
    for (const allocate of [true, false]) {
      const problem = await refused(config, allocate);
      assert.equal(problem.code, 'cluster-file-corrupt');
      assert.match(problem.message, /cluster\.json .*remove it/);
    }
    assert.equal(fs.readFileSync(fileOf(config), 'utf8'), text);
    // Commands reach the agents at their recorded endpoints, so the agents can be stopped.
    for (const [id, port] of [
      ['a1', 7101],
      ['a2', 7102],
    ]) {
      fs.mkdirSync(path.join(config.agent.dataDir, `${id}`));
      const record = path.join(config.agent.dataDir, `${id}`, 'agent.endpoint');
      fs.writeFileSync(record, `tcp://127.0.0.1:${port}\n`);
    }
    assert.equal((await refused(config, true)).code, 'cluster-file-corrupt');
    const found = await resolveAgents(config, { allocate: false });
    assert.ok(found.ok);
    const addresses = found.agents.map(({ address }) => address);
    assert.deepEqual(addresses, ['tcp://127.0.0.1:7101', 'tcp://127.0.0.1:7102']);
  });
}

test('ports: a data directory that is a file is unusable', async () => {
  const dataDir = path.join(newDirectory(), 'file');
  fs.writeFileSync(dataDir, '');
  for (const allocate of [true, false]) {
    const problem = await refused(cluster(2, dataDir), allocate);
    assert.match(problem.code, allocate ? /data-dir-unusable/ : /unusable|not-launched/);
  }
});

for (const before of [0, 2]) {
  test(`ports: concurrent allocations agree, given a file of ${before} agents`, async () => {
    const { dataDir } = cluster(1).agent;
    if (before > 0) await placed(cluster(before, dataDir));
    // All read the file before one writes it, and then propose different ports.
    const sizes = [3, 5, 3, 4, 5];
    const results = await Promise.all(sizes.map((size) => placed(cluster(size, dataDir))));
    const kept = await placed(cluster(5, dataDir), false);
    for (const [k, ports] of results.entries()) assert.deepEqual(ports, kept.slice(0, sizes[k]));
  });
}
