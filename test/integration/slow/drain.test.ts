// Directives about single agents, to real processes: capacity, threads, drain and undrain. Hosts move,
// and the web server sees each page once.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ClusterStatus } from '../../../agent/cli/status/status-command.ts';
import { freePorts } from '../../../bench/ports.ts';
import { startWeb } from '../../web/server.ts';
import { run, Scratch, start, until, untilAsked, untilJoined } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

const three = ['a1', 'a2', 'a3'];
/** Four in each half of the key space, so that all views are partial. */
const eight = ['a1', 'a3', 'a5', 'a9', 'a2', 'a4', 'a6', 'a8'];
const kademlia = {
  overlay: 'kademlia',
  kademlia: { neighbourhood: 4, ids: 1 },
  // Twice the usual interval of the tests: eight agents that wait use the processor all the time.
  failureDetector: { heartbeatMs: 200, suspectAfterMs: 2000 },
};
/** An agent runs as long as the test. */
const MS_MAX = 300_000;
const size = { hosts: 24, pages: 3, port: 0, answerMs: 5 };

type Agent = ClusterStatus['agents'][number];

/** Agents of a crawl that is paused while hosts have queues, so it does not end. */
async function pausedCluster(t: TestContext, ids: readonly string[], net: number, cluster = {}) {
  const web = await startWeb({ ...size, shares: { flaky: 0, slow: 0 }, net });
  const scratch = new Scratch();
  const agents = new Map<string, ReturnType<typeof start>>();
  t.after(async () => {
    for (const { child } of agents.values()) child.kill('SIGKILL');
    scratch.clean();
    await web.stop();
  });
  const politeness = { hostDelayMs: 300 };
  const ports = await freePorts(ids.length);
  const listed = ids.map((id, i) => ({ id, listen: `tcp://127.0.0.1:${ports[i]}` }));
  const its = { agents: listed, ...cluster };
  const config = await scratch.config(0, { seeds: [web.seed], politeness }, its);
  const begin = (id: string) => agents.set(id, start(['agent', config, '--id', id], {}, MS_MAX));
  for (const id of ids) begin(id);
  const statusOf = async (): Promise<ClusterStatus> =>
    JSON.parse((await run('status', config, '--json')).stdout);
  const untilStatus = (what: string, is: (all: ClusterStatus['agents']) => boolean) =>
    untilAsked(what, async () => is((await statusOf()).agents ?? []));
  await untilStatus('all have joined', (all) => {
    return all.length === ids.length && all.every(({ joined }) => joined);
  });
  await until('most hosts are known', () => web.requests().length > size.hosts);
  assert.equal((await run('pause', config)).code, 0);
  await untilStatus('no request is open', (all) =>
    all.every(({ openRequests, outbox, unsettled }) => openRequests + outbox + unsettled === 0),
  );
  const hostsOf = async (id: string) =>
    (await statusOf()).agents.find((agent) => agent.id === id)!.hosts;
  const applies = async (...command: string[]) => {
    const [verb, ...args] = command as [string, ...string[]];
    const { code, stderr } = await run(verb, config, ...args);
    assert.equal(code, 0, `${command.join(' ')}: ${stderr}`);
    assert.doesNotMatch(stderr, /unreadable/);
  };
  /** The agent has joined with this capacity, and no host is being handed over. */
  const settled = (id: string, capacity: number) =>
    untilStatus(`${id} has capacity ${capacity}`, (all) => {
      const one = all.find((agent) => agent.id === id);
      return all.length === ids.length && all.every(isStill) && one?.capacity === capacity;
    });
  const kill = async (...ids: string[]) => {
    for (const id of ids) agents.get(id)!.child.kill('SIGKILL');
    for (const id of ids) await agents.get(id)!.ended;
    await untilStatus(`${ids.join(' and ')} are removed`, (all) =>
      all.every((one) => !ids.includes(one.id) && !one.members.some(({ id }) => ids.includes(id))),
    );
  };
  /** Resumes the crawl, which must fetch each page once. */
  const completes = async () => {
    await applies('resume');
    for (const { ended } of agents.values()) assert.equal((await ended).code, 0);
    const audit = await run('audit', config);
    assert.equal(audit.code, 0, audit.stdout + audit.stderr);
    const pages = web.requests().filter(({ path }) => path !== '/robots.txt');
    const asked = pages.map(({ host, path }) => `${host}${path}`);
    assert.equal(new Set(asked).size, asked.length);
  };
  const about = { config, statusOf, hostsOf, untilStatus };
  return { ...about, begin, kill, applies, settled, completes };
}

function isStill({ joined, handOff }: Agent): boolean {
  return joined && handOff.given + handOff.owed + handOff.awaited === 0;
}

test('hosts move with capacity, drain and undrain, also to an agent that was down', async (t) => {
  const crawl = await pausedCluster(t, three, 83);
  const { config, begin, kill, hostsOf, untilStatus, applies, settled } = crawl;
  const [x, y, z] = three as [string, string, string];

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
  assert.match(refused.stderr, new RegExp(`${z} is the last agent that takes hosts; undrain`));
  assert.equal((await run('drain', config, 'a9')).code, 2);
  await applies('undrain', y);
  await settled(y, 1);
  assert.ok((await hostsOf(y)) > 0);

  await kill(x);
  const undrained = await run('undrain', config, x);
  assert.equal(undrained.code, 1);
  assert.match(undrained.stderr, new RegExp(`${x}: will obey`));
  begin(x);
  await settled(x, 1);
  assert.equal(await hostsOf(x), before);
  await crawl.completes();
});

test('hosts move with drain and undrain also if agents know only their neighbours', async (t) => {
  const crawl = await pausedCluster(t, eight, 84, kademlia);
  const { config, begin, kill, statusOf, untilStatus, hostsOf, applies, settled } = crawl;
  const counts = async () => (await statusOf()).agents.map(({ hosts }) => hosts);
  const sum = (of: readonly number[]) => of.reduce((a, b) => a + b, 0);
  const { agents } = await statusOf();
  assert.ok(
    agents.some(({ members }) => members.length < eight.length - 1),
    'all views are full',
  );
  const most = agents.toSorted((a, b) => b.hosts - a.hosts).map(({ id }) => id);
  const [x, y] = most as [string, string];
  const all = sum(await counts());
  const before = await hostsOf(x);
  assert.ok(before > 0);

  await applies('drain', x);
  await settled(x, 0);
  assert.deepEqual([await hostsOf(x), sum(await counts())], [0, all]);
  assert.match((await run('status', config)).stdout, new RegExp(`${x} +drained`));
  await kill(x, y);
  await run('drain', config, y);
  begin(y);
  await untilStatus(
    'y has no host',
    (now) =>
      now.length === eight.length - 1 &&
      now.every(isStill) &&
      now.some((one) => one.id === y && one.capacity === 0),
  );
  assert.deepEqual([await hostsOf(y), sum(await counts())], [0, all]);
  // A drained agent forwards commands, and obeys them after its start.
  await run('undrain', config, x);
  begin(x);
  await settled(x, 1);
  assert.ok((await hostsOf(x)) >= before);
  await applies('undrain', y);
  await settled(y, 1);
  assert.deepEqual([await hostsOf(x), sum(await counts())], [before, all]);
  await crawl.completes();
});

test('with the overlay kademlia the last drain is refused, and capacity has a limit', async (t) => {
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
  assert.equal((await run('drain', config, 'a1')).code, 0);
  const refused = await run('drain', config, 'a2');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /a2 is the last agent that takes hosts; undrain/);
  assert.equal((await run('undrain', config, 'a1')).code, 0);
  const { stdout } = await run('owner', config, gate.seed);
  const [, other] = (JSON.parse(stdout) as { order: string[] }).order;
  const most = await run('capacity', config, other!, '513');
  assert.deepEqual([most.code, /write at most 512/.test(most.stderr)], [2, true]);
  assert.equal((await run('capacity', config, other!, '3')).code, 0);
  await untilAsked('the capacity has changed', async () => {
    const status: ClusterStatus = JSON.parse((await run('status', config, '--json')).stdout);
    return status.agents.some((one) => one.id === other && one.joined && one.capacity === 3);
  });
  gate.open();
  assert.equal((await launch.ended).code, 0);
});
