// Faults of processes (groups `process` and `peer` of the fault matrix): agents killed, stopped,
// restarted and left alone in every order, as real processes on real files.

import { describe, test } from 'node:test';
import { Cluster } from './harness.ts';
import { assertWhole } from './harness-verdict.ts';

describe('process faults', { concurrency: 2 }, () => {
  test('F01: an agent that is killed for good is inherited', async (t) => {
    const cluster = await Cluster.make(t, { agents: 3 });
    await cluster.startAll();
    await cluster.reaches(0.5);
    await cluster.kill('a2');
    assertWhole(await cluster.finish(), { overlapMax: 2 * cluster.threads });
  });
});
