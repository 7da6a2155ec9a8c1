// Changes of the membership: agents start in any order or with other settings, leave and join
// repeatedly, join at the end, leave during a hand-over, or all leave but one. No page is fetched
// twice because agents leave or join.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, fault, gated, runs } from './harness.ts';
import { assertWhole, enders } from './harness-verdict.ts';

/** Config sections on which all agents must agree, each with another value. */
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

describe('clusters whose agents leave and join', { concurrency: 2 }, () => {
  fault(
    'agents start in any order, the first agent of the config long after the others',
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
      assert.equal(enders(verdict).length, 3, 'one cluster, whose agents ended together');
    },
  );

  fault('an agent with other settings is refused, and the message names the key', async (t) => {
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

  fault('two of four agents leave and join every half timeout', async (t, seed) => {
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

  fault('an agent joins when the last page is done', async (t, seed) => {
    const cluster = await Cluster.make(t, { agents: 3, web: { seed } });
    await cluster.startAll(['a1', 'a2']);
    await cluster.reaches(0.98);
    cluster.launch('a3');
    assertWhole(await cluster.finish());
  });

  fault('an agent leaves while hosts are handed to another', async (t, seed) => {
    const web = { seed, pages: 20 };
    // Leases that do not lapse on a busy machine, because an aborted request is sent again.
    const timing = { delayMs: 100, suspectAfterMs: 4000 };
    const cluster = await Cluster.make(t, { agents: 3, web, ...timing });
    await cluster.startAll(['a1', 'a2']);
    await cluster.reaches(0.3);
    await cluster.start('a3');
    const { code, stderr } = await cluster.leave('a2');
    assert.equal(code, 0, stderr);
    assertWhole(await cluster.finish());
  });

  fault('all agents but one leave, and it continues alone until they return', async (t, seed) => {
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
    // When two leave at once, the lease changes during open requests, which are then sent again.
    assertWhole(verdict, { overlapMax: cluster.threads });
    assert.equal(enders(verdict).length, 3);
  });
});
