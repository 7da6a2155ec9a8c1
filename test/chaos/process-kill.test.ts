// Faults of processes that die: killed for good, or killed and started again with or without their
// files, one by one or all at once. No page may be missing, and pages fetched again are limited to
// those that dead agents had open or not copied yet. Real processes on real files.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, fault, gated, runs } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import { assertWhole } from './harness-verdict.ts';

/** Allowed cost of a crash: the dead agent's open requests, and as many pages not copied yet. */
const perCrash = ({ threads }: Cluster) => 2 * threads;

/** When the agent is killed: in the middle of the crawl, or with several runs at several points. */
const shares = runs > 1 ? [0.1, 0.5, 0.9] : [0.5];

describe('processes that die', { concurrency: 2 }, () => {
  for (const share of shares) {
    fault(`an agent is killed for good at ${share * 100} % of the pages`, async (t, seed) => {
      const cluster = await Cluster.make(t, { agents: 3, web: { seed } });
      await cluster.startAll();
      await cluster.reaches(share);
      await cluster.kill('a2');
      assertWhole(await cluster.finish(), { overlapMax: perCrash(cluster) });
    });
  }

  fault('successors continue each host in time', async (t, seed) => {
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

  fault('two copies survive two deaths at once', async (t, seed) => {
    const cluster = await Cluster.make(t, { agents: 4, backups: 2, web: { seed, sparse: true } });
    await cluster.startAll();
    await cluster.reaches(0.4);
    await Promise.all([cluster.kill('a2'), cluster.kill('a3')]);
    assertWhole(await cluster.finish(), { overlapMax: 2 * perCrash(cluster) });
  });

  fault('an agent is repeatedly killed and started again at once', async (t, seed) => {
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

  fault('an agent is killed, and returns on its files after a takeover', async (t, seed) => {
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
    assert.ok(cluster.state('a2').state().hosts.length > 0, 'its hosts returned');
  });

  for (const inherited of [false, true]) {
    const when = inherited ? 'after a takeover' : 'at once';
    fault(`an agent is killed, and returns ${when} without its files`, async (t, seed) => {
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
      assert.ok(cluster.state('a2').state().hosts.length > 0, 'its hosts returned');
    });
  }

  for (const share of [...shares, 1]) {
    const when = share === 1 ? 'after the last page' : `at ${share * 100} % of the pages`;
    fault(`all agents are killed ${when} and started again`, async (t, seed) => {
      const cluster = await Cluster.make(t, { agents: 3, web: { seed } });
      await cluster.startAll();
      await cluster.reaches(share);
      await cluster.powerLoss();
      await cluster.startAll();
      const open = cluster.ids.length * cluster.threads;
      assertWhole(await cluster.finish(), { overlapMax: open });
    });
  }

  fault('each agent in turn leaves and returns', async (t, seed) => {
    const { gate, cluster } = await gated(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 150 });
    await cluster.startAll();
    await cluster.reaches(0.1);
    for (const id of cluster.ids) {
      const left = await cluster.leave(id);
      assert.equal(left.code, 0, left.stderr);
      await cluster.start(id);
      await cluster.joined(id);
      // The fault is a restart every so often, not all restarts at once.
      await pause(500);
    }
    gate.open();
    assertWhole(await cluster.finish());
  });
});
