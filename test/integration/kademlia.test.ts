// Real processes with the overlay kademlia crawl the synthetic web.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freePorts } from '../../bench/ports.ts';
import { call, run, start } from './cli-process.ts';
import { assertCode, assertPolite, assertWhole, crawlOf } from './cluster-stage.ts';

// On a busy machine an agent may be silent for seconds: its hosts would be fetched again.
const failureDetector = { heartbeatMs: 100, suspectAfterMs: 5000 };
const cluster = { overlay: 'kademlia', kademlia: { neighbourhood: 4 }, failureDetector };

describe('kademlia', { concurrency: 1 }, () => {
  test('agents that know only contacts find each other and fetch every page once', async (t) => {
    const endpoints = (await freePorts(3)).map((port) => `tcp://127.0.0.1:${port}`);
    const contacts = endpoints.slice(0, 2);
    const crawl = await crawlOf(t, 79, 3, [], { ...cluster, agents: undefined, contacts });
    const agents = endpoints.map((listen, k) =>
      start(['agent', crawl.config, '--id', `n${k}`, '--listen', listen]),
    );
    for (const { ended } of agents) assertCode(await ended, 0);
    // Commands that need the list of agents say what to do instead.
    const unlisted = await call(['agent', crawl.config, '--id', 'n9']);
    assertCode(unlisted, 2);
    assert.match(unlisted.stderr, /n9 is not in .*, and has not run here: add --listen ENDPOINT/);
    const again = await call(['agent', crawl.config, '--id', 'n0']);
    assertCode(again, 0);
    assert.match(again.stderr, /complete already; --refresh .*; to start over, move .* away/);
    const launched = await call(['launch', crawl.config]);
    assertCode(launched, 4);
    assert.match(launched.stderr, /no agent for this machine.*\n.*through cluster\.contacts:\n/);
    assert.match(launched.stderr, /^ {2}ubiring agent .* --id ID --listen ENDPOINT$/m);
    await assertNamedByState(crawl.config, crawl.web.seed);
    const owner = await run('owner', crawl.config, 'h.test', '--data', `${crawl.config}.none`);
    assertCode(owner, 4);
    assert.match(owner.stderr, /no contact answers, and .* has no state; start an agent, or name/);
    const unheard = await run('pause', crawl.config, '--data', `${crawl.config}.none`);
    assertCode(unheard, 1);
    assert.match(unheard.stderr, new RegExp(`^${contacts[0]}: nothing listens there$`, 'm'));
    assertWhole(crawl, 0);
    assertCode(await run('audit', crawl.config), 0);
    // As if it had run on another machine: its state is not missing here.
    fs.rmSync(join(crawl.scratch.dataDir, 'n2'), { recursive: true });
    const here = await call(['agent', crawl.config, '--id', 'n0']);
    assertCode(here, 0);
    assert.match(here.stderr, /complete already/);
  });

  test('an agent that is killed and restarted joins again, and the crawl ends with 0', async (t) => {
    const crawl = await crawlOf(t, 78, 3, [], cluster);
    const launch = start(['launch', crawl.config]);
    await crawl.served(15);
    const { stdout } = await run('status', crawl.config, '--json');
    const { agents } = JSON.parse(stdout) as { agents: { traffic: object }[] };
    const counted = new Set(agents.flatMap(({ traffic }) => Object.keys(traffic)));
    for (const name of ['STORE_TASK', 'STORE_BACKUP']) assert.ok(counted.has(name), name);
    for (const type of ['URLS', 'ROWS']) assert.ok(!counted.has(type), type);
    const unknown = await run('threads', crawl.config, 'a9', '3');
    assertCode(unknown, 2);
    assert.match(unknown.stderr, /^no agent a9 in .*, known: a1, .*a3; check the ID$/m);
    process.kill(crawl.scratch.pid('a2')!, 'SIGKILL');
    await crawl.served(10);
    const again = start(['agent', crawl.config, '--id', 'a2']);
    assertCode(await launch.ended, 0);
    assertCode(await again.ended, 0);
    assertPolite(crawl);
  });
});

/** Commands about the agents n0, n1 and n2 of a complete crawl whose config lists none. */
async function assertNamedByState(config: string, url: string): Promise<void> {
  const owner = await run('owner', config, url);
  assertCode(owner, 0);
  const { order } = JSON.parse(owner.stdout) as { order: string[] };
  assert.deepEqual(order.toSorted(), ['n0', 'n1', 'n2']);
  assert.match(owner.stderr, /no agent answers: the last agents known to .* are coun/);
  const explained = await run('explain', config, url);
  assert.match(explained.stdout, new RegExp(`^owner +${order[0]}`, 'm'));
  assert.match((await run('ring', config)).stdout, /^n0 .*\n *n1 .*\n *n2 /m);
  const stop = await run('stop', config, 'n1');
  assertCode(stop, 1);
  assert.match(stop.stderr, /the crawl is complete, and no agent runs on this machine/);
  assert.equal((await call(['kill', config, 'n1'])).stdout, 'n1: does not run on this machine\n');
  const unknown = await call(['kill', config, 'n9']);
  assertCode(unknown, 2);
  assert.match(unknown.stderr, /no agent n9 in .* or .*data, known: n0, n1, n2; check the ID$/m);
}
