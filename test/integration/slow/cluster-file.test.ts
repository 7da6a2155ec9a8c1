// The files `cluster.json`, with the ports of numbered agents, and `complete.json`, the completion
// record: they are lost, copied or damaged, or name a port that another program uses.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { startWeb } from '../../web/server.ts';
import { call, listening, run, Scratch, start, until, untilJoined } from '../cli-process.ts';

/** Second byte of the loopback addresses; the web of no other test uses it. */
const net = 46;

const failureDetector = { heartbeatMs: 100, suspectAfterMs: 2000 };

/** A crawl of two numbered agents, which does not end while the delay is long. */
async function numbered(context: TestContext) {
  const scratch = new Scratch();
  const web = await startWeb({ hosts: 4, pages: 6, port: 0, net, sparse: true });
  context.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const crawl = (name: string, hostDelayMs: number) =>
    scratch.config(0, {
      name,
      seeds: [web.seed],
      politeness: { hostDelayMs },
      cluster: { agents: 2, failureDetector },
    });
  const config = await crawl('first', 60_000);
  const file = path.join(scratch.dataDir, 'cluster.json');
  const ports = (): number[] => {
    const { agents } = JSON.parse(fs.readFileSync(file, 'utf8')) as { agents: { port: number }[] };
    return agents.map(({ port }) => port);
  };
  const launch = start(['launch', config]);
  await until('both agents', () => scratch.pid('a1') !== null && scratch.pid('a2') !== null);
  await untilJoined(config, 'a1', 'a2');
  return { scratch, crawl, config, file, ports, launch };
}

type Numbered = Awaited<ReturnType<typeof numbered>>;

async function copyReachesNone({ scratch, config }: Numbered) {
  const copy = path.join(scratch.directory, 'copy');
  fs.cpSync(scratch.dataDir, copy, { recursive: true });
  for (const words of [['status'], ['pause'], ['block', 'a.test'], ['stop'], ['stop', 'a2']]) {
    const [verb = '', ...args] = words;
    const said = await run(verb, config, ...args, '--data', copy);
    assert.equal(said.code, 1, `${verb}: ${said.stdout}${said.stderr}`);
    assert.match(said.stderr, new RegExp(`a1: no agent runs in ${copy}/a1`), verb);
  }
  const original = await run('status', config, '--json');
  assert.equal(original.code, 0, original.stderr);
  const { agents, orders } = JSON.parse(original.stdout) as { agents: []; orders: [] };
  assert.deepEqual([agents.length, orders.length], [2, 0]);
  const launched = await call(['launch', config, '--data', copy]);
  assert.equal(launched.code, 5, launched.stderr);
  assert.match(
    launched.stderr,
    /a1: .* is in use by an agent a1 of this crawl, in another data directory/,
  );
}

async function otherCrawlGetsOtherPorts({ scratch, crawl, config, file }: Numbered) {
  const second = path.join(scratch.directory, 'second');
  fs.mkdirSync(second);
  fs.cpSync(file, path.join(second, 'cluster.json'));
  const launched = await run('launch', await crawl('second', 20), '--data', second);
  assert.equal(launched.code, 0, launched.stderr);
  for (const id of ['a1', 'a2']) {
    assert.match(launched.stderr, new RegExp(`${id}: .* by another program: it gets another port`));
  }
  await crawl('first', 60_000);
  const { stdout } = await run('status', config, '--json');
  const { agents } = JSON.parse(stdout) as { agents: { crawl: string; members: unknown[] }[] };
  const seen = agents.map(({ crawl, members }) => [crawl, members.length]);
  assert.deepEqual(seen, [
    ['first', 1],
    ['first', 1],
  ]);
}

/** Deletes the file, kills and restarts a2, and stops both. */
async function lossSplitsNothing({ scratch, config, file, ports, launch }: Numbered) {
  const endpoint = path.join(scratch.dataDir, 'a2', 'agent.endpoint');
  assert.equal(fs.readFileSync(endpoint, 'utf8'), `tcp://127.0.0.1:${ports()[1]}\n`);
  fs.rmSync(file);
  const second = await call(['launch', config]);
  assert.equal(second.code, 4, second.stderr);
  assert.match(second.stderr, /in use by a running agent/);
  assert.equal(fs.existsSync(file), false);

  process.kill(scratch.pid('a2')!, 'SIGKILL');
  await until('the exit of a2', () => launch.stderr().includes('a2 was killed'));
  const again = start(['agent', config, '--id', 'a2']);
  await untilJoined(config, 'a1', 'a2');
  const stopped = await run('stop', config);
  assert.equal(stopped.code, 0, stopped.stderr);
  assert.equal((await again.ended).code, 11);
  assert.equal((await launch.ended).code, 11);
}

/** Another program takes the port of a1; a2 runs, and then no agent. */
async function takenPortIsReplaced(
  { scratch, crawl, config, file, ports }: Numbered,
  before: readonly number[],
) {
  // The running a2 still knows the old port of a1.
  const alone = start(['agent', config, '--id', 'a2']);
  await until('a2 alone', () => scratch.pid('a2') !== null);
  fs.rmSync(file, { force: true });
  const refused = await call(['launch', config, '--agents', 'a1']);
  assert.equal(refused.code, 5, refused.stderr);
  assert.match(
    refused.stderr,
    /a1: tcp.* is in use by another program; .*stop the agents that run/,
  );
  assert.equal(fs.existsSync(file), false, 'a refused launch does not write the file');
  const byHand = await run('agent', config, '--id', 'a1');
  assert.deepEqual([byHand.code, byHand.stderr], [5, refused.stderr]);
  assert.equal(fs.existsSync(file), false, 'a refused agent does not write the file');
  assert.equal((await run('stop', config)).code, 0);
  await alone.ended;

  const again = await run('launch', await crawl('first', 20));
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stderr, /a1: tcp.* is in use by another program: it gets another port/);
  const after = ports();
  assert.notEqual(after[0], before[0]);
  assert.equal(after[1], before[1]);
}

test('cluster.json of two numbered agents is copied, lost, or names a port in use', async (context) => {
  const crawl = await numbered(context);
  const before = crawl.ports();
  await context.test(
    'commands on a copy of the data directory do not reach the agents of the original',
    () => copyReachesNone(crawl),
  );
  await context.test(
    'a numbered agent gets another port if an agent of another crawl uses its port',
    () => otherCrawlGetsOtherPorts(crawl),
  );
  await context.test(
    'its loss does not split the cluster, and a refused launch does not write it',
    () => lossSplitsNothing(crawl),
  );
  const other = await listening(before[0]!);
  context.after(() => other.close());
  await context.test(
    'a numbered agent gets another port if another program uses its port and no agent still runs',
    () => takenPortIsReplaced(crawl, before),
  );
});

test('complete.json: launch reports a damaged record and completes the crawl again', async (context) => {
  const scratch = new Scratch();
  const web = await startWeb({ hosts: 2, pages: 4, port: 0, net: net + 1, sparse: true });
  context.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const config = await scratch.config(0, {
    seeds: [web.seed],
    cluster: { agents: 1 },
  });
  assert.equal((await run('launch', config)).code, 0);
  const file = path.join(scratch.dataDir, 'complete.json');
  const sound = JSON.parse(fs.readFileSync(file, 'utf8'));
  for (const text of [
    '',
    JSON.stringify({ ...sound, agents: null }),
    JSON.stringify({ ...sound, states: { a1: null } }),
  ]) {
    fs.writeFileSync(file, text);
    const again = await run('launch', config);
    assert.equal(again.code, 0, again.stderr);
    assert.match(
      again.stderr,
      /complete\.json is not a completion record: the crawl continues/,
      text,
    );
    assert.deepEqual(JSON.parse(fs.readFileSync(file, 'utf8')).states, sound.states);
  }
  fs.rmSync(file);
  fs.mkdirSync(file);
  const refused = await call(['launch', config]);
  assert.equal(refused.code, 4, refused.stderr);
  assert.match(refused.stderr, /complete\.json is a directory; move it away/);
  fs.rmdirSync(file);
  const log = path.join(scratch.dataDir, 'a1', 'agent.log');
  fs.rmSync(log, { force: true });
  fs.mkdirSync(log);
  const unlogged = await run('launch', config);
  assert.equal(unlogged.code, 4, unlogged.stderr);
  assert.match(unlogged.stderr, /agent\.log: EISDIR.*; move it away/);
});
