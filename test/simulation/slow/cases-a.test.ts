// Scenarios in which earlier versions of the protocol failed, each on a cluster of real cores:
// fetch right, lease and failure detector.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, heartbeats, inc, rejoinsOf, sentOf } from '../case-kit.ts';
import { DELAY_MS, EPOCH, LEASE_MS, SUSPECT_MS } from '../cluster.ts';
import { HEARTBEAT_MS } from '../process.ts';
import { Random } from '../random.ts';

describe('fetch right, lease, failure detector', () => {
  it('an agent that was alone and stalled while others joined fetches nothing on waking', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a1');
    c.runUntil('a1 crawls alone', () => c.log.length >= 20);
    c.stall('a1', 4 * SUSPECT_MS);
    c.start('a2');
    c.start('a3');
    c.run(2.5 * SUSPECT_MS);
    assert.ok(c.log.some((v) => v.by === 'a2'));
    c.run(2 * SUSPECT_MS);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('groups that formed separately release their hosts when they meet', () => {
    const c = cluster(['a1', 'a2', 'a3'], { quorum: 'majority' });
    for (const other of ['a2', 'a3']) {
      c.network.cut('a1', other);
      c.network.cut(other, 'a1');
    }
    c.startAll();
    c.runUntil('the two crawl', () => c.log.length >= 40);
    c.network.heal();
    c.run(2 * HEARTBEAT_MS);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('under majority, two agents that no others hear stop before the others take over', () => {
    const c = crawling(['a1', 'a2', 'a3', 'a4', 'a5'], { quorum: 'majority' });
    for (const x of ['a1', 'a2']) for (const y of ['a3', 'a4', 'a5']) c.network.cut(x, y);
    c.run(3 * SUSPECT_MS);
    c.network.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0, 0, 0]);
  });

  it('a vote remains after its voter removed the suspect, so every agent removes it', () => {
    const c = crawling(['a1', 'a2', 'a3', 'a4', 'a5'], { quorum: 'majority', delayMs: 100 });
    c.kill('a5');
    c.lose = (_, to, message) =>
      to === 'a4' && message.type === 'HEARTBEAT' && message.suspects.length > 0;
    c.run(2 * SUSPECT_MS);
    c.lose = () => false;
    c.run(SUSPECT_MS);
    assert.deepEqual(
      c.living().map(({ id }) => c.snapshot(id).members.length),
      [3, 3, 3, 3],
    );
  });

  it('if a direction has no path, a third agent relays URLs, lists and heartbeats', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.network.cut('a1', 'a2');
    c.run(SUSPECT_MS);
    const since = c.now;
    c.run(2 * SUSPECT_MS);
    // The receiver must not take relayed heartbeats for a direct path, or the path would flap.
    for (const { news } of heartbeats(c, 'a2', since)) {
      assert.equal(news.find((n) => n.id === 'a1')?.direct, false);
    }
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal(c.fetched().size, 1200);
  });

  it('of five agents that each reach two others, none is removed in any heartbeat order', () => {
    const ids = ['a1', 'a2', 'a3', 'a4', 'a5'];
    const random = new Random(5);
    for (let seed = 0; seed < 24; seed++) {
      const c = cluster(ids, { delayMs: 300, seed }, 10);
      for (const id of ids) {
        c.run(random.whole(0, HEARTBEAT_MS - 1));
        c.start(id);
      }
      c.runUntil('the crawl is running', () => c.log.length >= 20);
      c.run(random.whole(0, HEARTBEAT_MS - 1));
      const before = ids.map((id) => inc(c, id));
      // Each agent still reaches the previous and the next one.
      for (const [k, id] of ids.entries()) {
        for (const other of [ids[(k + 2) % 5]!, ids[(k + 3) % 5]!]) c.network.cut(id, other);
      }
      c.run(2 * SUSPECT_MS);
      const after = ids.map((id) => inc(c, id));
      assert.deepEqual(after, before, `seed ${seed}`);
    }
  });

  it('a deaf agent without a relay learns from the others that it was removed, and rejoins', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const before = inc(c, 'a1');
    c.network.cut('a1', 'a3');
    c.network.cut('a2', 'a3');
    c.run(3 * SUSPECT_MS);
    c.network.heal();
    c.run(SUSPECT_MS);
    assert.ok(inc(c, 'a1') > before);
    c.runToEnd();
    // Requests are not polite meanwhile: for the deaf agent this is a partition without a relay.
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('a changed capacity comes with a new incarnation and moves hosts politely', () => {
    let capacity = 1;
    const settings = (id: AgentId) => (id === 'a2' ? { capacity } : {});
    const c = crawling(['a1', 'a2'], { settings });
    capacity = 3;
    c.kill('a2');
    c.start('a2');
    c.runUntil('a1 knows the new capacity', () => c.snapshot('a1').members[0]?.capacity === 3);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('wall clocks that jump forwards or back cause no impolite request and lose no page', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.jump('a1', 3_600_000);
    c.jump('a2', -3_600_000);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal(c.fetched().size, 1200);
  });

  it('when its lease grantor dies, an agent stops fetching from lease end to takeover', () => {
    const c = crawling(['a1', 'a2']);
    const died = c.now;
    c.kill('a2');
    c.run(0.98 * SUSPECT_MS - HEARTBEAT_MS);
    const late = c.log.filter((v) => v.start > died + LEASE_MS + HEARTBEAT_MS);
    assert.deepEqual(late, []);
    c.runToEnd();
    assert.ok(c.log.some((v) => v.start > died + SUSPECT_MS));
  });

  it('heartbeats and acknowledgements use the control lane, and URLs the bulk lane', () => {
    const c = crawling(['a1', 'a2']);
    const perform = c.agents.get('a1')!.effects;
    const push = perform.push.bind(perform);
    const lanes = new Map<string, string>();
    perform.push = (effect) => {
      if (effect.type === 'send') lanes.set(effect.envelope.message.type, effect.lane);
      push(effect);
    };
    c.run(SUSPECT_MS);
    assert.equal(lanes.get('HEARTBEAT'), 'control');
    assert.equal(lanes.get('URLS_ACK'), 'control');
    assert.equal(lanes.get('URLS'), 'bulk');
  });

  it('when all agents are reborn at once, the crawl continues within a few round trips', () => {
    const c = crawling(['a1', 'a2', 'a3', 'a4']);
    for (const id of ['a1', 'a2', 'a3', 'a4']) c.stall(id, LEASE_MS + 50);
    c.run(LEASE_MS + 50 + 4 * HEARTBEAT_MS + DELAY_MS);
    const from = c.now - 2 * HEARTBEAT_MS;
    assert.ok(c.log.some((v) => v.start > from));
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

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
