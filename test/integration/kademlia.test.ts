// Real processes with the overlay kademlia crawl the synthetic web.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freePorts } from '../../bench/ports.ts';
import { run, start } from './cli-process.ts';
import { assertCode, assertPolite, assertWhole, crawlOf, size } from './cluster-stage.ts';

const cluster = { overlay: 'kademlia', kademlia: { neighbourhood: 4 } };

describe('kademlia', { concurrency: 1 }, () => {
  test('four agents fetch every page once', async (t) => {
    const crawl = await crawlOf(t, 77, 4, [], cluster);
    assertCode(await start(['launch', crawl.config]).ended, 0);
    assertWhole(crawl, 0);
    // The commands compute the same owners as the agents did.
    assertCode(await run('audit', crawl.config), 0);
    const { stdout } = await run('query', crawl.config, 'SELECT agent, host FROM hosts', '--json');
    const hosts = JSON.parse(stdout) as { agent: string; host: string }[];
    assert.equal(hosts.length, size.hosts);
    const lists = await run('owner', crawl.config, ...hosts.map(({ host }) => host));
    const owners = lists.stdout.trim().split('\n');
    const first = owners.map((line) => (JSON.parse(line) as { order: string[] }).order[0]);
    assert.deepEqual(
      first,
      hosts.map(({ agent }) => agent),
    );
  });

  test('agents that know only contacts find each other and fetch every page once', async (t) => {
    const endpoints = (await freePorts(3)).map((port) => `tcp://127.0.0.1:${port}`);
    const contacts = endpoints.slice(0, 2);
    const crawl = await crawlOf(t, 79, 3, [], { ...cluster, agents: undefined, contacts });
    const agents = endpoints.map((listen, k) =>
      start(['agent', crawl.config, '--id', `n${k}`, '--listen', listen]),
    );
    for (const { ended } of agents) assertCode(await ended, 0);
    // Commands that need the list of agents say what to do instead.
    const unlisted = await run('agent', crawl.config, '--id', 'n9');
    assertCode(unlisted, 2);
    assert.match(unlisted.stderr, /n9 is not in .*, and has not run here: add --listen ENDPOINT/);
    const again = await run('agent', crawl.config, '--id', 'n0');
    assertCode(again, 0);
    assert.match(again.stderr, /complete already; --refresh .*; to start over, move .* away/);
    const launched = await run('launch', crawl.config);
    assertCode(launched, 4);
    assert.match(launched.stderr, /no agent for this machine.*\n.*through cluster\.contacts:\n/);
    assert.match(launched.stderr, /^ {2}ubiring agent .* --id ID --listen ENDPOINT$/m);
    const owner = await run('owner', crawl.config, 'h.test');
    assertCode(owner, 4);
    assert.match(owner.stderr, /no agent answers; for a URL, see: ubiring explain CONFIG URL/);
    assertCode(await run('explain', crawl.config, crawl.web.seed), 0);
    assertWhole(crawl, 0);
    assertCode(await run('audit', crawl.config), 0);
    // As if it had run on another machine: its state is not missing here.
    fs.rmSync(join(crawl.scratch.dataDir, 'n2'), { recursive: true });
    const here = await run('agent', crawl.config, '--id', 'n0');
    assertCode(here, 0);
    assert.match(here.stderr, /complete already/);
  });

  test('an agent that is killed and restarted joins again, and the crawl ends with 0', async (t) => {
    const crawl = await crawlOf(t, 78, 4, [], cluster);
    const launch = start(['launch', crawl.config]);
    await crawl.served(15);
    const { stdout } = await run('status', crawl.config, '--json');
    const { agents } = JSON.parse(stdout) as { agents: { traffic: object }[] };
    const counted = new Set(agents.flatMap(({ traffic }) => Object.keys(traffic)));
    for (const name of ['STORE_TASK', 'STORE_BACKUP']) assert.ok(counted.has(name), name);
    for (const type of ['URLS', 'ROWS']) assert.ok(!counted.has(type), type);
    process.kill(crawl.scratch.pid('a2')!, 'SIGKILL');
    await crawl.served(10);
    const again = start(['agent', crawl.config, '--id', 'a2']);
    assertCode(await launch.ended, 0);
    assertCode(await again.ended, 0);
    assertPolite(crawl);
  });
});
