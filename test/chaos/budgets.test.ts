// The shared limits of a cluster with real processes. Hosts of one address that different agents
// own keep the delay of the address, and the page limit is met, even if an agent is killed. The
// tests check the server's log and the agents' files.

import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import { crowded } from '../checkers/addresses.ts';
import { impolite } from '../checkers/politeness.ts';
import { namesFlags } from '../web/shared-names.ts';
import { Cluster, type ClusterOptions, fault, gated } from './harness.ts';
import { type SharedWeb, startShared } from './harness-shared.ts';

const ipDelayMs = 200;
const hostDelayMs = 60;
const userAgent = 'chaos (+https://example.org/)';

async function started(
  t: TestContext,
  options: Partial<ClusterOptions>,
  shape = { hosts: 20, addresses: 3, pages: 4 },
): Promise<{ cluster: Cluster; shared: SharedWeb }> {
  const shared = await startShared(shape);
  t.after(() => shared.stop());
  const web = { hosts: 1, pages: 1 };
  const cluster = await Cluster.make(t, { agents: 4, web, seeds: shared.seeds, ...options });
  await Promise.all(cluster.ids.map((id) => cluster.start(id, { nodeFlags: namesFlags })));
  return { cluster, shared };
}

const answered = ({ requests }: SharedWeb) => {
  const whole = requests().filter((r) => r.whole && !r.url.endsWith('/robots.txt'));
  return new Set(whole.map(({ url }) => url));
};

function assertApart(shared: SharedWeb): void {
  const log = shared.requests();
  assert.deepEqual(new Set(log.map(({ address }) => address)).size, 3);
  // Timers of Node.js may fire a fraction of a millisecond early.
  const rules = { delayMs: ipDelayMs, toleranceMs: 1 };
  assert.deepEqual(
    crowded(log, ({ address }) => address, rules),
    [],
  );
  assert.deepEqual(impolite(log, { delayMs: hostDelayMs, toleranceMs: 1 }), []);
}

describe('shared limits of the cluster', { concurrency: 1 }, () => {
  const config = { politeness: { hostDelayMs, ipDelayMs } };

  fault('four agents with 20 hosts on 3 addresses keep the delay of each address', async (t) => {
    const { cluster, shared } = await started(t, { config });
    const { ends } = await cluster.finish();
    for (const { id, code, stderr } of ends) assert.equal(code, 0, `${id}: ${stderr}`);
    assertApart(shared);
    assert.deepEqual([...answered(shared)].sort(), [...shared.pages].sort());
    const owners = cluster.ids.filter((id) => cluster.state(id).state().pages.length > 1);
    assert.ok(owners.length >= 3, `not exercised: only ${owners} own pages`);
  });

  fault('the delay of each address holds although an agent is killed and returns', async (t) => {
    const shared = await startShared({ hosts: 20, addresses: 3, pages: 4 });
    t.after(() => shared.stop());
    const web = { hosts: 1, pages: 1 };
    const { gate, cluster } = await gated(t, { agents: 4, web, seeds: shared.seeds, config });
    const nodeFlags = namesFlags;
    await Promise.all(cluster.ids.map((id) => cluster.start(id, { nodeFlags })));
    await cluster.until('a third', () => answered(shared).size > shared.pages.length / 3);
    await cluster.kill('a2');
    await cluster.event('a1', 'suspect', 'a2');
    await cluster.start('a2', { nodeFlags });
    await cluster.joined('a2');
    gate.open();
    const { ends } = await cluster.finish();
    for (const { id, code, stderr } of ends) assert.equal(code, 0, `${id}: ${stderr}`);
    assertApart(shared);
    assert.deepEqual([...answered(shared)].sort(), [...shared.pages].sort());
  });

  const politeness = { hostDelayMs, hosts: {} };
  const pages = 130;
  const shape = { hosts: 20, addresses: 3, pages: 15 };
  const finished = (cluster: Cluster, ids = cluster.ids) =>
    new Set(
      ids.flatMap((id) =>
        cluster
          .state(id)
          .state()
          .pages.map(({ url }) => url),
      ),
    ).size;

  fault('limits.pages: as many pages end as allowed, and the others are skipped', async (t) => {
    const limited = {
      politeness,
      limits: { pages },
      http: { userAgent, allowPrivateAddresses: true },
    };
    const { cluster, shared } = await started(t, { config: limited }, shape);
    const { ends } = await cluster.finish();
    for (const { id, code, stderr } of ends) assert.equal(code, 0, `${id}: ${stderr}`);
    assert.equal(finished(cluster), pages);
    assert.ok(answered(shared).size <= pages);
    for (const id of cluster.ids) assert.deepEqual(cluster.state(id).state().frontier, []);
  });

  fault('limits.pages: the limit is met although an agent is killed for good', async (t) => {
    const limited = {
      politeness,
      limits: { pages },
      http: { userAgent, allowPrivateAddresses: true },
    };
    const { cluster, shared } = await started(t, { config: limited }, shape);
    await cluster.until('a third of the pages', () => answered(shared).size > pages / 3);
    await cluster.kill('a3');
    const { ends } = await cluster.finish();
    for (const { id, code, signal, stderr } of ends) {
      if (signal !== 'SIGKILL') assert.equal(code, 0, `${id}: ${stderr}`);
    }
    const left = cluster.ids.filter((id) => id !== 'a3');
    assert.equal(finished(cluster, left), pages);
    // The server also saw pages that the dead agent fetched but did not copy.
    const most = pages + 2 * cluster.threads;
    assert.ok(answered(shared).size <= most, `${answered(shared).size} answered, ${most} allowed`);
  });
});
