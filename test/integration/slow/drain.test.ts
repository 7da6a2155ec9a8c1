// Directives about single agents, to real processes: capacity, threads, drain and undrain. Hosts move,
// and the web server sees each page once.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ClusterStatus } from '../../../agent/cli/status/status-command.ts';
import { startWeb } from '../../web/server.ts';
import { run, Scratch, start, until, untilAsked, untilJoined } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

const ids = ['a1', 'a2', 'a3'];
const size = { hosts: 24, pages: 6, port: 0, answerMs: 5 };

type Agent = ClusterStatus['agents'][number];

/** Three agents of a crawl that is paused while hosts have queues, so it does not end. */
async function pausedCluster(t: TestContext) {
  const web = await startWeb({ ...size, shares: { flaky: 0, slow: 0 }, net: 83 });
  const scratch = new Scratch();
  const agents = new Map<string, ReturnType<typeof start>>();
  t.after(async () => {
    for (const { child } of agents.values()) child.kill('SIGKILL');
    scratch.clean();
    await web.stop();
  });
  const politeness = { hostDelayMs: 300 };
  const config = await scratch.config(ids.length, { seeds: [web.seed], politeness });
  const begin = (id: string) => agents.set(id, start(['agent', config, '--id', id]));
  for (const id of ids) begin(id);
  await untilJoined(config, ...ids);
  await until('most hosts are known', () => web.requests().length > size.hosts);
  assert.equal((await run('pause', config)).code, 0);
  const statusOf = async (): Promise<ClusterStatus> =>
    JSON.parse((await run('status', config, '--json')).stdout);
  const untilStatus = (what: string, is: (all: ClusterStatus['agents']) => boolean) =>
    untilAsked(what, async () => is((await statusOf()).agents ?? []));
  await untilStatus('no request is open', (all) =>
    all.every(({ openRequests, outbox, unsettled }) => openRequests + outbox + unsettled === 0),
  );
  return { web, config, begin, agents, statusOf, untilStatus };
}

/** The agent has joined with this capacity, and no host is being handed over. */
function isSettled(all: readonly Agent[], id: string, capacity: number): boolean {
  const isStill = ({ joined, handOff }: Agent) =>
    joined && handOff.given + handOff.owed + handOff.awaited === 0;
  const one = all.find((agent) => agent.id === id);
  return all.length === ids.length && all.every(isStill) && one?.capacity === capacity;
}

test('hosts move with capacity, drain and undrain, also to an agent that was down', async (t) => {
  const { web, config, begin, agents, statusOf, untilStatus } = await pausedCluster(t);
  const [x, y, z] = ids as [string, string, string];
  const hostsOf = async (id: string) =>
    (await statusOf()).agents.find((agent) => agent.id === id)!.hosts;
  const applies = async (...command: string[]) => {
    const [verb, ...args] = command as [string, ...string[]];
    const { code, stderr } = await run(verb, config, ...args);
    assert.equal(code, 0, `${command.join(' ')}: ${stderr}`);
  };
  const settled = (id: string, capacity: number) =>
    untilStatus(`${id} has capacity ${capacity}`, (all) => isSettled(all, id, capacity));

  const before = await hostsOf(x);
  await applies('capacity', x, '4');
  await settled(x, 4);
  assert.ok((await hostsOf(x)) > before);
  assert.match((await run('status', config)).stdout, /capacity/);
  await applies('capacity', x, 'default');
  await settled(x, 1);
  assert.equal(await hostsOf(x), before);

  await applies('threads', 'all', '3');
  await applies('threads', x, '5');
  await untilStatus('the threads have changed', (all) =>
    all.every(({ id, threads }) => threads === (id === x ? 5 : 3)),
  );

  await applies('drain', x);
  await settled(x, 0);
  assert.equal(await hostsOf(x), 0);
  assert.match((await run('status', config)).stdout, new RegExp(`${x} +drained`));
  await applies('drain', y);
  await settled(y, 0);
  const refused = await run('drain', config, z);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, new RegExp(`${z} is the last agent that takes hosts: undrain`));
  assert.equal((await run('drain', config, 'a9')).code, 1);
  await applies('undrain', y);
  await settled(y, 1);
  assert.ok((await hostsOf(y)) > 0);

  agents.get(x)!.child.kill('SIGKILL');
  await agents.get(x)!.ended;
  await untilStatus(`${x} is removed`, (all) => all.every(({ members }) => members.length === 1));
  const undrained = await run('undrain', config, x);
  assert.equal(undrained.code, 1);
  assert.match(undrained.stderr, new RegExp(`${x}: will obey`));
  begin(x);
  await settled(x, 1);
  assert.equal(await hostsOf(x), before);

  await applies('resume');
  for (const { ended } of agents.values()) assert.equal((await ended).code, 0);
  const audit = await run('audit', config);
  assert.equal(audit.code, 0, audit.stdout + audit.stderr);
  const pages = web.requests().filter(({ path }) => path !== '/robots.txt');
  const asked = pages.map(({ host, path }) => `${host}${path}`);
  assert.equal(new Set(asked).size, asked.length);
});

test('drain is refused with the overlay kademlia, where capacity is changed', async (t) => {
  const gate = await startGate();
  const scratch = new Scratch();
  t.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const overlay = { overlay: 'kademlia', kademlia: { neighbourhood: 4, ids: 16 } };
  const config = await scratch.config(2, { seeds: [gate.seed] }, overlay);
  const launch = start(['launch', config]);
  await untilJoined(config, 'a1', 'a2');
  const refused = await run('drain', config, 'a1');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /drain is not available with this overlay/);
  const { stdout } = await run('owner', config, gate.seed);
  const [, other] = (JSON.parse(stdout) as { order: string[] }).order;
  const most = await run('capacity', config, other!, '513');
  assert.deepEqual([most.code, /up to 512/.test(most.stderr)], [2, true]);
  assert.equal((await run('capacity', config, other!, '3')).code, 0);
  await untilAsked('the capacity has changed', async () => {
    const status: ClusterStatus = JSON.parse((await run('status', config, '--json')).stdout);
    return status.agents.some((one) => one.id === other && one.joined && one.capacity === 3);
  });
  gate.open();
  assert.equal((await launch.ended).code, 0);
});
