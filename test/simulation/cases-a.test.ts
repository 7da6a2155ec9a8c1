// The scenarios by which weaker wordings of the protocol failed, each on a
// cluster of real cores, named after its row: fetch right, lease, detector.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, heartbeats, inc, sentOf } from './case-kit.ts';
import { EPOCH, LEASE_MS, SUSPECT_MS } from './cluster.ts';
import { HEARTBEAT_MS } from './process.ts';

describe('cases A: fetch right, lease, detector', () => {
  it('A1: a suspicion is not taken back when the link heals; the suspect is reborn', () => {
    const c = crawling(['a1', 'a2']);
    const before = inc(c, 'a1');
    c.network.cut('a1', 'a2');
    c.run(1.2 * SUSPECT_MS);
    const healed = c.now;
    c.network.heal();
    c.run(SUSPECT_MS);
    assert.ok(inc(c, 'a1') > before);
    for (const { news } of heartbeats(c, 'a2', healed)) {
      assert.equal(
        news.some((n) => n.id === 'a1' && n.inc === before),
        false,
      );
    }
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('A2: a restarted agent waits a delay on hosts that it visited in its former life', () => {
    const c = crawling(['a1']);
    c.kill('a1');
    c.start('a1');
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('A5: a request that outlives the lease is aborted, and counts as no attempt', () => {
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

  it('A6: agents that differ in what must agree refuse each other', () => {
    const settings = (id: AgentId) =>
      id === 'a2' ? { fingerprint: 'other', fingerprintHash: 'other' } : {};
    const c = cluster(['a1', 'a2'], { settings });
    c.startAll();
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 5]);
  });

  it('A7: an incarnation is above all before it though the clock was set back', () => {
    const c = crawling(['a1', 'a2']);
    const before = inc(c, 'a1');
    c.kill('a1');
    c.jump('a1', -3_600_000);
    c.start('a1');
    c.run(50);
    assert.ok(inc(c, 'a1') > before);
  });

  it('A7: without its database too, once it hears what others know of it', () => {
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

  it('A7: a second process of the same identifier ends one of the two with 5', () => {
    const c = crawling(['a1', 'a2']);
    const first = c.agents.get('a1')!;
    const from = { id: 'a1', inc: inc(c, 'a1') + 1000 };
    const [beat] = heartbeats(c, 'a1', 0).slice(-1);
    c.deliver('a1', { from, to: { id: 'a1', inc: 0 }, message: beat! });
    c.run(50);
    assert.equal(first.end?.code, 5);
  });

  it('A11: a yield tells what is left of the wait, as a duration', () => {
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
