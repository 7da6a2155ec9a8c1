// Faults of a cluster that comes and goes (groups `ring` and `peer` of the fault matrix): agents
// that start in any order, with other settings, that churn, join at the end, leave in the middle of
// a hand-over, or all leave but one. What leaves and joins costs no page fetched twice.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, fault, gated, runs } from './harness.ts';
import { assertWhole, enders } from './harness-verdict.ts';

/** Sections of the config that all agents must agree on, each with another value. */
const otherSettings: readonly (readonly [string, Record<string, unknown>])[] = [
  ['replicas', { cluster: { replicas: 100 } }],
  ['backups', { cluster: { backups: 2 } }],
  ['agents', { cluster: { quorum: 'majority' } }],
  ['suspectAfterMs', { cluster: { failureDetector: { heartbeatMs: 100, suspectAfterMs: 1600 } } }],
  ['hostDelayMs', { politeness: { hostDelayMs: 61 } }],
  ['scope', { scope: { hosts: ['*'], exclude: ['/p3'] } }],
  [
    'userAgent',
    { http: { userAgent: 'other (+https://example.org/)', allowPrivateAddresses: true } },
  ],
];

describe('clusters that come and go', { concurrency: 2 }, () => {
  fault(
    'F31: agents start in any order, the first of the config long after the others',
    async (t, seed) => {
      const { gate, cluster } = await gated(t, {
        agents: 3,
        web: { seed, pages: 20 },
        delayMs: 100,
      });
      await cluster.start('a3');
      await cluster.joined('a3');
      await cluster.served(5);
      await cluster.start('a2');
      await pause(2 * cluster.suspectAfterMs);
      await cluster.start('a1');
      await cluster.joined('a1');
      gate.open();
      const verdict = await cluster.finish();
      assertWhole(verdict);
      assert.equal(enders(verdict).length, 3, 'one cluster, which ended together');
    },
  );

  fault('F50: an agent with other settings is refused, naming what differs', async (t) => {
    const { gate, cluster } = await gated(t, { agents: 2 });
    await cluster.start('a1');
    await cluster.joined('a1');
    const config = JSON.parse(fs.readFileSync(cluster.config, 'utf8'));
    for (const [key, change] of otherSettings) {
      const file = path.join(path.dirname(cluster.config), `other-${key}.json`);
      const inner = Object.entries(change).map(([section, values]) => {
        return [section, { ...config[section], ...(values as object) }];
      });
      fs.writeFileSync(file, JSON.stringify({ ...config, ...Object.fromEntries(inner) }));
      const { code, stderr } = await cluster.launch('a2', { config: file }).ended;
      assert.equal(code, 5, `${key}: ${stderr}`);
      assert.match(stderr, new RegExp(`refused this one: .*${key}`));
    }
    await cluster.start('a2');
    gate.open();
    assertWhole(await cluster.finish());
  });

  fault('F54: two of four agents leave and join every half time-out', async (t, seed) => {
    const web = { seed, pages: 20 };
    const { gate, cluster } = await gated(t, { agents: 4, web, delayMs: 150 });
    await cluster.startAll();
    await Promise.all(cluster.ids.map((id) => cluster.joined(id)));
    for (let k = 0; k < (runs > 1 ? 20 : 4); k++) {
      const id = k % 2 === 0 ? 'a3' : 'a4';
      assert.equal((await cluster.leave(id)).code, 0);
      await pause(cluster.suspectAfterMs / 2);
      await cluster.start(id);
    }
    await Promise.all(['a3', 'a4'].map((id) => cluster.joined(id)));
    gate.open();
    const verdict = await cluster.finish();
    assertWhole(verdict);
    assert.equal(enders(verdict).length, 4, 'one ring after the last change');
  });

  fault('F55: an agent joins when the last page is done', async (t, seed) => {
    const cluster = await Cluster.make(t, { agents: 3, web: { seed } });
    await cluster.startAll(['a1', 'a2']);
    await cluster.reaches(0.98);
    cluster.launch('a3');
    assertWhole(await cluster.finish());
  });

  fault('F55: an agent leaves while hosts are handed to another', async (t, seed) => {
    const web = { seed, pages: 20 };
    // Leases that do not lapse on a busy machine: a request that is aborted is asked again.
    const timing = { delayMs: 100, suspectAfterMs: 4000 };
    const cluster = await Cluster.make(t, { agents: 3, web, ...timing });
    await cluster.startAll(['a1', 'a2']);
    await cluster.reaches(0.3);
    await cluster.start('a3');
    const { code, stderr } = await cluster.leave('a2');
    assert.equal(code, 0, stderr);
    assertWhole(await cluster.finish());
  });

  fault('F56: all leave but one, which goes on alone until they are back', async (t, seed) => {
    const { gate, cluster } = await gated(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 100 });
    await cluster.startAll();
    await cluster.reaches(0.2);
    for (const { code, stderr } of await Promise.all([cluster.leave('a1'), cluster.leave('a3')])) {
      assert.equal(code, 0, stderr);
    }
    await cluster.served(10);
    await cluster.startAll(['a1', 'a3']);
    await Promise.all(['a1', 'a3'].map((id) => cluster.joined(id)));
    gate.open();
    const verdict = await cluster.finish();
    // Two that leave at once change the lease under open requests, which are then asked again.
    assertWhole(verdict, { overlapMax: cluster.threads });
    assert.equal(enders(verdict).length, 3);
  });
});
