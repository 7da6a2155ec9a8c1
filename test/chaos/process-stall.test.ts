// Faults of processes that do not die: stopped and continued, blocked by their own computing, told
// to go, or there twice. A standstill that is shorter than the time-out changes nothing; a longer
// one costs the agent its hosts, and it must notice before it asks for anything. Ids are those of
// the fault matrix.

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

/** Agents of the view that somebody gave up or that gave themselves up. */
function changes(cluster: Cluster): string[] {
  const kinds = ['suspect', 'remove', 'rejoin'];
  return cluster.ids.flatMap((id) => {
    const events = cluster.state(id).events();
    return events.filter(({ kind }) => kinds.includes(kind)).map(({ kind }) => `${kind} at ${id}`);
  });
}

describe('processes that do not die', { concurrency: 2 }, () => {
  fault('F06: stopped for half the time-out, again and again: nobody notices', async (t, seed) => {
    // Half of it leaves a tenth until the lease lapses, for whatever else delays the agent.
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

  fault('F07: stopped for three time-outs in the middle of requests', async (t, seed) => {
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
    // One stray request a host, of those that it had open or was about to send.
    const strayMax = cluster.threads;
    const verdict = await cluster.finish();
    // Requests that are late hold no thread (ADR 0042): more than the threads may have been open.
    const open = Math.max(strayMax, abortedIn(verdict));
    assertWhole(verdict, { overlapMax: cluster.threads + open, strayMax });
  });

  fault('F08: all stopped for five time-outs and continued in another order', async (t, seed) => {
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
      `F09: its event loop blocked for ${share} time-outs, it accuses nobody`,
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

  fault('F10: SIGTERM is a leave, SIGINT too, and a second one ends at once', async (t, seed) => {
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
    // It cannot hand over to who stands still; the second word comes meanwhile.
    await pause(cluster.heartbeatMs);
    cluster.run('a4').signal('SIGTERM');
    const { code } = await cluster.run('a4').ended;
    cluster.resume('a1');
    assert.equal(code, 11);
    await cluster.start('a4');
    gate.open();
    // The two that left are not asked again; what a4 had open when it was cut short may be.
    assertWhole(await cluster.finish(), { overlapMax: 2 * cluster.threads });
  });

  fault('F05: a twin at another address and on other files is refused', async (t, seed) => {
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
