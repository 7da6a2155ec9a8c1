// Faults of processes that die: killed for good, killed and started again on what they knew or on
// nothing, one by one and all at once. Nothing may be missing, and what is fetched again is bounded
// by what the dead had open or not copied yet. Real processes on real files; the ids are those of
// the fault matrix.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, fault, gated, runs } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import { assertWhole } from './harness-verdict.ts';

/** What one crash may cost: the dead agent's open requests, and as many not copied yet. */
const perCrash = ({ threads }: Cluster) => 2 * threads;

/** Where in the crawl: once, in the middle; many times, everywhere. */
const shares = runs > 1 ? [0.1, 0.5, 0.9] : [0.5];

describe('processes that die', { concurrency: 2 }, () => {
  for (const share of shares) {
    fault(`F01: killed for good at ${share * 100} % of the pages`, async (t, seed) => {
      const cluster = await Cluster.make(t, { agents: 3, web: { seed } });
      await cluster.startAll();
      await cluster.reaches(share);
      await cluster.kill('a2');
      assertWhole(await cluster.finish(), { overlapMax: perCrash(cluster) });
    });
  }

  fault('F01: the successors go on at each host in time', async (t, seed) => {
    const web = { seed, pages: 30, hosts: 12 };
    const cluster = await Cluster.make(t, { agents: 3, web, delayMs: 100, threads: 16 });
    await cluster.startAll();
    await cluster.reaches(0.3);
    await cluster.kill('a2');
    const killedMs = steadyMs();
    const hosts = cluster
      .state('a2')
      .state()
      .frontier.map((url) => new URL(url).hostname);
    assertWhole(await cluster.finish(), { overlapMax: perCrash(cluster) });
    const { suspectAfterMs, heartbeatMs, delayMs } = cluster;
    const limitMs = suspectAfterMs + 2 * heartbeatMs + 1000 + delayMs;
    assert.ok(hosts.length > 0, 'not exercised: the dead agent had no queue');
    for (const host of new Set(hosts)) {
      const later = cluster.web.requests().filter((r) => r.host === host && r.startMs > killedMs);
      const firstMs = Math.min(...later.map(({ startMs }) => startMs)) - killedMs;
      assert.ok(firstMs <= limitMs, `${host}: first request after ${firstMs} of ${limitMs} ms`);
    }
  });

  fault('F01: two copies survive two deaths at once', async (t, seed) => {
    const cluster = await Cluster.make(t, { agents: 4, backups: 2, web: { seed, sparse: true } });
    await cluster.startAll();
    await cluster.reaches(0.4);
    await Promise.all([cluster.kill('a2'), cluster.kill('a3')]);
    assertWhole(await cluster.finish(), { overlapMax: 2 * perCrash(cluster) });
  });

  fault('F02: killed and started again at once, again and again', async (t, seed) => {
    const { gate, cluster } = await gated(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 150 });
    await cluster.startAll();
    const restarts = runs > 1 ? 20 : 5;
    for (let k = 0; k < restarts; k++) {
      if (cluster.share() < 1) await cluster.served(5);
      await cluster.restart('a2');
    }
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: restarts * perCrash(cluster) });
  });

  fault('F03: killed, and back on its files after it was inherited', async (t, seed) => {
    const { gate, cluster } = await gated(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 120 });
    await cluster.startAll();
    await cluster.reaches(0.25);
    await cluster.kill('a2');
    await cluster.event('a1', 'suspect', 'a2');
    await cluster.served(20);
    await cluster.start('a2');
    await cluster.joined('a2');
    gate.open();
    const verdict = await cluster.finish();
    assertWhole(verdict, { overlapMax: perCrash(cluster) });
    assert.ok(cluster.state('a2').state().hosts.length > 0, 'its hosts came back');
  });

  for (const inherited of [false, true]) {
    const when = inherited ? 'after it was inherited' : 'at once';
    fault(`F04: killed, and back ${when} without its files`, async (t, seed) => {
      const web = { seed, pages: 20 };
      const { gate, cluster } = await gated(t, { agents: 3, web, delayMs: 120 });
      await cluster.startAll();
      await cluster.reaches(0.3);
      await cluster.kill('a2');
      if (inherited) await cluster.event('a1', 'suspect', 'a2');
      cluster.wipe('a2');
      await cluster.start('a2');
      await cluster.joined('a2');
      gate.open();
      const verdict = await cluster.finish();
      assertWhole(verdict, { overlapMax: perCrash(cluster) });
      assert.ok(cluster.state('a2').state().hosts.length > 0, 'its hosts came back');
    });
  }

  for (const share of [...shares, 1]) {
    const when = share === 1 ? 'after the last page' : `at ${share * 100} % of the pages`;
    fault(`F11: all killed ${when}, and started again`, async (t, seed) => {
      const cluster = await Cluster.make(t, { agents: 3, web: { seed } });
      await cluster.startAll();
      await cluster.reaches(share);
      await cluster.powerLoss();
      await cluster.startAll();
      const open = cluster.ids.length * cluster.threads;
      assertWhole(await cluster.finish(), { overlapMax: open });
    });
  }

  fault('F12: each leaves and comes back in turn', async (t, seed) => {
    const { gate, cluster } = await gated(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 150 });
    await cluster.startAll();
    await cluster.reaches(0.1);
    for (const id of cluster.ids) {
      const left = await cluster.leave(id);
      assert.equal(left.code, 0, left.stderr);
      await cluster.start(id);
      await cluster.joined(id);
      // The fault is one restart every so often, not all of them at once.
      await pause(500);
    }
    gate.open();
    assertWhole(await cluster.finish());
  });
});
