// The slower tests of whole clusters on virtual time: stalls, one-way cuts and partitions. The
// others are in `test/simulation/cluster.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SUSPECT_MS } from '../cluster.ts';
import { assertAllFetchedOnce, cluster, ends } from '../cluster-stage.ts';

describe('a cluster with faults', () => {
  it('an agent that stalls again before it receives an answer removes no agent as deaf', () => {
    const c = cluster(['a1', 'a2', 'a3'], 40, 20);
    const incarnations = () =>
      ['a1', 'a3'].map((id) => c.agents.get(id)!.core.snapshot(c.instant(id)).incarnation);
    c.startAll();
    c.runUntil('a tenth is fetched', () => c.log.length >= 80);
    const before = incarnations();
    for (let k = 0; k < 4; k++) {
      // Shorter than the lease, so it keeps its incarnation, and longer than an answer takes.
      c.stall('a2', 0.59 * SUSPECT_MS);
      c.run(0.59 * SUSPECT_MS + 15);
    }
    c.run(SUSPECT_MS);
    assert.deepEqual(incarnations(), before);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('a third agent bridges a one-way cut: no suspicion, relayed URLs, completion', () => {
    const c = cluster(['a1', 'a2', 'a3'], 60, 40);
    c.startAll();
    c.runUntil('some are fetched', () => c.log.length >= 20);
    c.network.cut('a1', 'a2');
    c.run(4 * SUSPECT_MS);
    assert.equal(c.living().length, 3);
    c.runToEnd();
    assertAllFetchedOnce(c, 2400);
    const gone = c.sent.filter((m) => m.message.type === 'HEARTBEAT' && m.message.gone.length > 0);
    const named = gone.flatMap((m) => (m.message.type === 'HEARTBEAT' ? m.message.gone : []));
    assert.deepEqual(
      named.filter((g) => g.inc > 1_700_000_000_000 + 60_000),
      [],
    );
  });

  it('under majority the smaller side of a partition stops before the larger takes over', () => {
    const c = cluster(['a1', 'a2', 'a3'], 60, 40, { quorum: 'majority' });
    c.startAll();
    c.runUntil('some are fetched', () => c.log.length >= 60);
    for (const other of ['a2', 'a3']) {
      c.network.cut('a1', other);
      c.network.cut(other, 'a1');
    }
    c.run(4 * SUSPECT_MS);
    c.network.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(ends(c), { a1: 0, a2: 0, a3: 0 });
  });
});
