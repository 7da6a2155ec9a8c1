// The most common faults of a cluster whose web uses TLS, over HTTP/2 and HTTP/1.1: none, an agent
// that is killed for good, that returns at once or after a takeover, or that leaves. The same
// promises hold as without TLS. Sessions shared by many requests, and tickets that resume them,
// neither outlive a lease nor let two requests at one host overlap.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { type Cluster, fault, gated } from './harness.ts';
import { assertWhole, type Verdict } from './harness-verdict.ts';

/** Allowed cost of a crash: the dead agent's open requests, and as many pages not copied yet. */
const perCrash = ({ threads }: Cluster) => 2 * threads;

/** Handshakes keep both cores busy for a while, which must not count as missing heartbeats. */
const patience = { heartbeatMs: 200, suspectAfterMs: 4000 };

const versions = [
  ['2.0', true],
  ['1.1', false],
] as const;

describe('a web that uses TLS', { concurrency: 2 }, () => {
  for (const [version, http2] of versions) {
    const named = (what: string) => `TLS, HTTP/${version}: ${what}`;
    const make = (t: Parameters<typeof gated>[0], seed: number) => {
      const web = { seed, hosts: 8, tls: true };
      return gated(t, { agents: 3, web, http: { http2 }, ...patience });
    };
    const spoke = ({ web }: Verdict) => assert.deepEqual(web.versions(), [version]);

    fault(named('each page is fetched once'), async (t, seed) => {
      const { gate, cluster } = await make(t, seed);
      gate.open();
      await cluster.startAll();
      const verdict = await cluster.finish();
      assertWhole(verdict);
      spoke(verdict);
    });

    fault(named('an agent is killed for good'), async (t, seed) => {
      const { gate, cluster } = await make(t, seed);
      await cluster.startAll();
      await cluster.reaches(0.5);
      await cluster.kill('a2');
      gate.open();
      const verdict = await cluster.finish();
      assertWhole(verdict, { overlapMax: perCrash(cluster) });
      spoke(verdict);
    });

    fault(named('an agent is killed and returns at once'), async (t, seed) => {
      const { gate, cluster } = await make(t, seed);
      await cluster.startAll();
      await cluster.reaches(0.3);
      await cluster.restart('a2');
      await cluster.joined('a2');
      gate.open();
      const verdict = await cluster.finish();
      assertWhole(verdict, { overlapMax: perCrash(cluster) });
      spoke(verdict);
    });

    fault(named('an agent is killed and returns after a takeover'), async (t, seed) => {
      const { gate, cluster } = await make(t, seed);
      await cluster.startAll();
      await cluster.reaches(0.3);
      await cluster.kill('a2');
      await cluster.event('a1', 'suspect', 'a2');
      await cluster.start('a2');
      await cluster.joined('a2');
      gate.open();
      const verdict = await cluster.finish();
      assertWhole(verdict, { overlapMax: perCrash(cluster) });
      assert.ok(cluster.state('a2').state().hosts.length > 0, 'its hosts returned');
      spoke(verdict);
    });

    fault(named('an agent leaves'), async (t, seed) => {
      const { gate, cluster } = await make(t, seed);
      await cluster.startAll();
      await cluster.reaches(0.3);
      const left = await cluster.leave('a2');
      assert.equal(left.code, 0, left.stderr);
      gate.open();
      const verdict = await cluster.finish();
      assertWhole(verdict);
      spoke(verdict);
    });
  }
});
