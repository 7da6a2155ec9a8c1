// Real processes with the overlay kademlia crawl the synthetic web.
// The slower of these tests; the others are in `test/integration/kademlia.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, start } from '../cli-process.ts';
import { assertCode, assertWhole, crawlOf, size } from '../cluster-stage.ts';

// On a busy machine an agent may be silent for seconds: its hosts would be fetched again.
const failureDetector = { heartbeatMs: 100, suspectAfterMs: 5000 };
const cluster = { overlay: 'kademlia', kademlia: { neighbourhood: 4 }, failureDetector };

test('kademlia: four agents fetch every page once', async (t) => {
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
