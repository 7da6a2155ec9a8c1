// Faults of processes that do not die: stopped and continued, blocked by their own computation,
// terminated, or running twice. A stall shorter than the timeout changes nothing. A longer one
// costs the agent its hosts, and the agent must notice it before its next request.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../bench/ports.ts';
import { type Cluster, fault, gated, runs } from './harness.ts';
import { AgentRun, steadyMs } from './harness-process.ts';
import { abortedIn, assertWhole } from './harness-verdict.ts';

const spin = path.join(import.meta.dirname, 'harness-spin.ts');

/** Removals of other agents and rejoins in the events of all agents. */
function changes(cluster: Cluster): string[] {
  const kinds = ['suspect', 'remove', 'rejoin'];
  return cluster.ids.flatMap((id) => {
    const events = cluster.state(id).events();
    return events.filter(({ kind }) => kinds.includes(kind)).map(({ kind }) => `${kind} at ${id}`);
  });
}

describe('processes that do not die', { concurrency: 2 }, () => {
  fault('no agent notices stops of half the timeout', async (t, seed) => {
    // Half of the timeout leaves a tenth until the lease lapses, for other delays of the agent.
    const suspectAfterMs = 8000;
    const { gate, cluster } = await gated(t, { agents: 3, suspectAfterMs, web: { seed } });
    await cluster.startAll();
    await Promise.all(cluster.ids.map((id) => cluster.joined(id)));
    for (let k = 0; k < (runs > 1 ? 20 : 3); k++) {
      cluster.suspend('a2');
      await pause(suspectAfterMs / 2);
      cluster.resume('a2');
      await cluster.heard('a2');
    }
    assert.deepEqual(changes(cluster), []);
    gate.open();
    assertWhole(await cluster.finish());
  });

  fault('an agent is stopped for three timeouts during requests', async (t, seed) => {
    const web = { seed, pages: 20, answerMs: 20 };
    const { gate, cluster } = await gated(t, { agents: 3, web, delayMs: 100 });
    await cluster.startAll();
    await cluster.reaches(0.2);
    cluster.suspend('a2');
    await pause(3 * cluster.suspectAfterMs);
    cluster.resume('a2');
    await cluster.event('a2', 'rejoin', 'a2');
    await cluster.joined('a2');
    gate.open();
    // One stray request for each host with an open or imminent request.
    const strayMax = cluster.threads;
    const verdict = await cluster.finish();
    // Late requests occupy no thread (ADR 0042), so more than the threads may have been open.
    const open = Math.max(strayMax, abortedIn(verdict));
    assertWhole(verdict, { overlapMax: cluster.threads + open, strayMax });
  });

  fault('all agents stop for five timeouts and continue in another order', async (t, seed) => {
    const suspectAfterMs = 1000;
    const { gate, cluster } = await gated(t, { agents: 4, suspectAfterMs, web: { seed } });
    await cluster.startAll();
    await cluster.reaches(0.3);
    for (const id of cluster.ids) cluster.suspend(id);
    await pause(5 * suspectAfterMs);
    for (const id of ['a3', 'a1', 'a4', 'a2']) {
      cluster.resume(id);
      await pause(cluster.heartbeatMs * ((seed * 7) % 5));
    }
    gate.open();
    const { threads } = cluster;
    const costs = { overlapMax: 4 * 2 * threads, strayMax: 4 * threads };
    assertWhole(await cluster.finish(), costs);
  });

  for (const share of runs > 1 ? [0.4, 1, 2] : [0.4, 2]) {
    fault(
      `an agent with an event loop blocked for ${share} timeouts suspects no other`,
      async (t, seed) => {
        const suspectAfterMs = 4000;
        const spinMs = share * suspectAfterMs;
        const web = { seed, pages: 20 };
        const { gate, cluster } = await gated(t, { agents: 3, web, suspectAfterMs, delayMs: 100 });
        const options = { nodeFlags: ['--import', spin], env: { CHAOS_SPIN_MS: String(spinMs) } };
        await Promise.all([cluster.startAll(['a1', 'a3']), cluster.start('a2', options)]);
        await Promise.all(cluster.ids.map((id) => cluster.joined(id)));
        await cluster.reaches(0.2);
        cluster.run('a2').signal('SIGUSR2');
        await pause(spinMs + 5 * cluster.heartbeatMs);
        gate.open();
        const verdict = await cluster.finish();
        const lapsed = share * suspectAfterMs >= 0.6 * suspectAfterMs;
        assertWhole(verdict, { overlapMax: lapsed ? 2 * cluster.threads : 0 });
        assert.deepEqual(cluster.state('a2').events('suspect'), []);
        if (!lapsed) assert.deepEqual(changes(cluster), []);
      },
    );
  }

  fault('SIGTERM and SIGINT make an agent leave, a second signal ends it', async (t, seed) => {
    const { gate, cluster } = await gated(t, { agents: 4, web: { seed, pages: 20 }, delayMs: 100 });
    await cluster.startAll();
    await cluster.reaches(0.2);
    const sentMs = steadyMs();
    for (const [id, signal] of [
      ['a2', 'SIGTERM'],
      ['a3', 'SIGINT'],
    ] as const) {
      cluster.run(id).signal(signal);
      const { code, stderr } = await cluster.run(id).ended;
      assert.equal(code, 0, stderr);
    }
    assert.ok(steadyMs() - sentMs < 10_000, 'both left within ten seconds');
    cluster.suspend('a1');
    cluster.run('a4').signal('SIGTERM');
    // It cannot hand over to a stalled agent. The second signal arrives meanwhile.
    await pause(cluster.heartbeatMs);
    cluster.run('a4').signal('SIGTERM');
    const { code } = await cluster.run('a4').ended;
    cluster.resume('a1');
    assert.equal(code, 11);
    await cluster.start('a4');
    gate.open();
    // Pages of the two that left are not requested again. Those that a4 had open may be.
    assertWhole(await cluster.finish(), { overlapMax: 2 * cluster.threads });
  });

  fault('a second process at another address with other files is refused', async (t, seed) => {
    const { gate, cluster } = await gated(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 100 });
    await cluster.startAll();
    await cluster.reaches(0.2);
    const same = new AgentRun('a2', cluster);
    const locked = await same.ended;
    assert.equal(locked.code, 4, locked.stderr);
    const config = JSON.parse(fs.readFileSync(cluster.config, 'utf8'));
    config.cluster.agents[1].listen = `tcp://127.0.0.1:${await freePort()}`;
    const other = path.join(path.dirname(cluster.config), 'twin.json');
    fs.writeFileSync(other, JSON.stringify(config));
    const twin = new AgentRun('a2', { config: other, dataDir: `${cluster.dataDir}-twin` });
    t.after(() => twin.signal('SIGKILL'));
    const { code, stderr } = await twin.ended;
    assert.equal(code, 5, stderr);
    assert.match(stderr, /a2 runs at tcp:/);
    gate.open();
    assertWhole(await cluster.finish());
  });
});
