// Scenarios in which earlier versions of the protocol failed, each on a cluster of real cores:
// fetch right, lease and failure detector.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, heartbeats, inc, rejoinsOf, sentOf } from './case-kit.ts';
import { EPOCH, LEASE_MS, SUSPECT_MS } from './cluster.ts';
import { HEARTBEAT_MS } from './process.ts';

describe('fetch right, lease, failure detector', () => {
  it('a suspicion stays when the link heals, and the suspect takes a new incarnation', () => {
    const c = crawling(['a1', 'a2']);
    const before = inc(c, 'a1');
    c.network.cut('a1', 'a2');
    c.run(1.2 * SUSPECT_MS);
    const healed = c.now;
    c.network.heal();
    c.run(SUSPECT_MS);
    assert.ok(inc(c, 'a1') > before);
    assert.deepEqual(rejoinsOf(c, 'a1'), ['removed by others']);
    for (const { news } of heartbeats(c, 'a2', healed)) {
      assert.equal(
        news.some((n) => n.id === 'a1' && n.inc === before),
        false,
      );
    }
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('a restarted agent waits one delay on hosts that its previous run visited', () => {
    const c = crawling(['a1']);
    c.kill('a1');
    c.start('a1');
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('a request that outlives the lease is aborted and does not count as an attempt', () => {
    const c = cluster(['a1', 'a2'], { requestMs: () => 3 * SUSPECT_MS });
    c.startAll();
    c.runUntil('requests are open', () => c.log.length >= 1);
    const [first] = c.log;
    const other = first!.by === 'a1' ? 'a2' : 'a1';
    c.network.cut(first!.by, other);
    c.run(SUSPECT_MS);
    assert.ok(first!.end - c.now < 0);
    assert.equal(first!.whole, false);
    assert.ok(first!.end <= EPOCH + (first!.start - EPOCH) + LEASE_MS + 2 * HEARTBEAT_MS);
  });

  it('agents whose shared settings differ refuse each other', () => {
    const settings = (id: AgentId) =>
      id === 'a2' ? { fingerprint: 'other', fingerprintHash: 'other' } : {};
    const c = cluster(['a1', 'a2'], { settings });
    c.startAll();
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 5]);
  });

  it('a new incarnation is higher than all previous ones, even if the clock was set back', () => {
    const c = crawling(['a1', 'a2']);
    const before = inc(c, 'a1');
    c.kill('a1');
    c.jump('a1', -3_600_000);
    c.start('a1');
    c.run(50);
    assert.ok(inc(c, 'a1') > before);
  });

  it('an agent without its database takes a higher incarnation than others report of it', () => {
    const c = crawling(['a1', 'a2']);
    const before = inc(c, 'a1');
    c.kill('a1');
    c.wipe('a1');
    c.jump('a1', -3_600_000);
    c.start('a1');
    c.run(3 * HEARTBEAT_MS);
    assert.ok(inc(c, 'a1') > before);
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0]);
  });

  it('a second process with the same identifier makes one of the two exit with code 5', () => {
    const c = crawling(['a1', 'a2']);
    const first = c.agents.get('a1')!;
    const from = { id: 'a1', inc: inc(c, 'a1') + 1000 };
    const [beat] = heartbeats(c, 'a1', 0).slice(-1);
    c.deliver('a1', { from, to: { id: 'a1', inc: 0 }, message: beat! });
    c.run(50);
    assert.equal(first.end?.code, 5);
  });

  it('an agent that has not joined takes a higher incarnation than that of a later process', () => {
    const c = crawling(['a1', 'a2']);
    const [beat] = heartbeats(c, 'a1', 0).slice(-1);
    c.kill('a1');
    c.start('a1');
    c.run(5);
    const from = { id: 'a1', inc: inc(c, 'a1') + 1000 };
    c.deliver('a1', { from, to: { id: 'a1', inc: 0 }, message: beat! });
    c.run(50);
    assert.ok(inc(c, 'a1') > from.inc);
    assert.deepEqual(rejoinsOf(c, 'a1'), ['known with a later incarnation']);
  });

  it('a yield names the remaining wait as a duration', () => {
    const c = cluster(['a1', 'a2'], { delayMs: 400 });
    c.start('a1');
    c.runUntil('some hosts are known', () => c.log.length >= 8);
    c.start('a2');
    c.runUntil('a yield', () => sentOf(c, 'YIELD').length > 0);
    for (const { message } of sentOf(c, 'YIELD')) {
      if (message.type !== 'YIELD') continue;
      for (const { waitMs } of message.items) assert.ok(waitMs >= 0 && waitMs <= 400);
    }
    c.runToEnd(300_000);
    assert.deepEqual(c.impolite(), []);
  });
});
