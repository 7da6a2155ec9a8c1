// Faults of processes that run out of heap or file descriptors. The lack of one agent must not
// count as a failure of hosts, and must not end the crawl.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Cluster, fault } from './harness.ts';
import { assertWhole } from './harness-verdict.ts';

describe('processes that run out of resources', { concurrency: 2 }, () => {
  fault('an agent with a small heap crawls large pages', async (t, seed) => {
    // About 6 MB of bodies at a time, and thousands of links on every page.
    const web = { seed, hosts: 24, pages: 8, bodyBytes: 750_000, linksPerPage: 3000 };
    // The garbage collector may stop it for seconds on a slow machine, which must not cost its
    // lease.
    const cluster = await Cluster.make(t, { agents: 3, web, suspectAfterMs: 10_000 });
    const options = { nodeFlags: ['--max-old-space-size=64'] };
    await Promise.all([cluster.startAll(['a1', 'a3']), cluster.start('a2', options)]);
    assertWhole(await cluster.finish());
    assert.equal(cluster.run('a2').end?.code, 0);
  });

  fault('an agent with too small a heap dies, and returns with a larger one', async (t, seed) => {
    const cluster = await Cluster.make(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 100 });
    await cluster.startAll(['a1', 'a3']);
    const small = cluster.launch('a2', { nodeFlags: ['--max-old-space-size=12'] });
    const { code, signal } = await small.ended;
    assert.ok(code !== 0, `it ended with ${code ?? signal}, but should have run out of memory`);
    await cluster.start('a2');
    assertWhole(await cluster.finish(), { overlapMax: 2 * cluster.threads });
  });

  fault('an agent with 128 file descriptors crawls more hosts than that', async (t, seed) => {
    const web = { seed, hosts: 300, pages: 4 };
    const cluster = await Cluster.make(t, { agents: 2, web, threads: 256 });
    const prefix = ['sh', '-c', 'ulimit -n 128; exec "$@"', 'sh'];
    await Promise.all([cluster.start('a1'), cluster.start('a2', { prefix })]);
    assertWhole(await cluster.finish());
    for (const id of cluster.ids) {
      const failed = cluster
        .state(id)
        .state()
        .pages.filter(({ error }) => error !== null);
      assert.deepEqual(failed, [], 'no host failed because of the lack');
    }
  });
});
