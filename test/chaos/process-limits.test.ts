// Faults of processes that run out: of heap and of file descriptors. What one agent lacks must not
// be held against the hosts that it asks, and must not end the crawl. Ids are those of the fault
// matrix.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Cluster, fault } from './harness.ts';
import { assertWhole } from './harness-verdict.ts';

describe('processes that run out', { concurrency: 2 }, () => {
  fault('F13: large pages at an agent with a small heap', async (t, seed) => {
    // Some 6 MB of bodies at a time, and thousands of links on every page.
    const web = { seed, hosts: 24, pages: 8, bodyBytes: 750_000, linksPerPage: 3000 };
    // Its collector stops it for seconds on a slow machine, which is not to cost it its lease.
    const cluster = await Cluster.make(t, { agents: 3, web, suspectAfterMs: 10_000 });
    const options = { nodeFlags: ['--max-old-space-size=64'] };
    await Promise.all([cluster.startAll(['a1', 'a3']), cluster.start('a2', options)]);
    assertWhole(await cluster.finish());
    assert.equal(cluster.run('a2').end?.code, 0);
  });

  fault('F13: an agent whose heap is too small dies, and comes back with more', async (t, seed) => {
    const cluster = await Cluster.make(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 100 });
    await cluster.startAll(['a1', 'a3']);
    const small = cluster.launch('a2', { nodeFlags: ['--max-old-space-size=12'] });
    const { code, signal } = await small.ended;
    assert.ok(code !== 0, `ended with ${code ?? signal}, and was to run out of memory`);
    await cluster.start('a2');
    assertWhole(await cluster.finish(), { overlapMax: 2 * cluster.threads });
  });

  fault('F14: 128 file descriptors for more hosts than that', async (t, seed) => {
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
      assert.deepEqual(failed, [], 'the lack is no fault of a host');
    }
  });
});
