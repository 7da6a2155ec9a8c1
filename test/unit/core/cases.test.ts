// The scenarios by which weaker wordings of the protocol failed (PROTOCOL-CASES), each on a
// cluster of real cores, named after its row.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId, Message } from '../../../agent/core/messages.ts';
import {
  Cluster,
  chainWeb,
  DELAY_MS,
  EPOCH,
  HEARTBEAT_MS,
  LEASE_MS,
  SUSPECT_MS,
} from './cluster.ts';

const SEEDS = ['http://h0.test/p0'];

function cluster(ids: readonly AgentId[], more = {}, hosts = 40, pages = 30): Cluster {
  return new Cluster({ ids, web: chainWeb(hosts, pages), seeds: SEEDS, ...more });
}

function crawling(ids: readonly AgentId[], more = {}): Cluster {
  const c = cluster(ids, more);
  c.startAll();
  c.runUntil('the crawl is on its way', () => c.log.length >= 60);
  return c;
}

function inc(c: Cluster, id: AgentId): number {
  return c.snapshot(id).incarnation;
}

function endCodes(c: Cluster): (number | undefined)[] {
  return [...c.agents.values()].map((a) => a.end?.code);
}

function heartbeats(c: Cluster, from: AgentId, since: number) {
  return c.sent.flatMap((s) =>
    s.from === from && s.at > since && s.message.type === 'HEARTBEAT' ? [s.message] : [],
  );
}

function sentOf<T extends Message['type']>(c: Cluster, type: T, since = 0) {
  return c.sent.filter((s) => s.at > since && s.message.type === type);
}

describe('cases A: fetch right, lease, detector', () => {
  it('A1: a suspicion is not taken back when the link heals; the suspect is reborn', () => {
    const c = crawling(['a1', 'a2']);
    const before = inc(c, 'a1');
    c.cut('a1', 'a2');
    c.run(1.2 * SUSPECT_MS);
    const healed = c.now;
    c.heal();
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
    const disk = c.kill('a1');
    c.start('a1', disk);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('A3: alone, then stopped while others take over, an agent fetches nothing on waking', () => {
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

  it('A4: groups that formed apart give up what they hold when they meet', () => {
    const c = cluster(['a1', 'a2', 'a3'], { quorum: 'majority' });
    for (const other of ['a2', 'a3']) {
      c.cut('a1', other);
      c.cut(other, 'a1');
    }
    c.startAll();
    c.runUntil('the two crawl', () => c.log.length >= 40);
    c.heal();
    c.run(2 * HEARTBEAT_MS);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('A5: a request that outlives the lease is aborted, and counts as no attempt', () => {
    const c = cluster(['a1', 'a2'], { requestMs: () => 3 * SUSPECT_MS });
    c.startAll();
    c.runUntil('requests are open', () => c.log.length >= 1);
    const [first] = c.log;
    const other = first!.by === 'a1' ? 'a2' : 'a1';
    c.cut(first!.by, other);
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
    const disk = c.kill('a1');
    c.jump('a1', -3_600_000);
    c.start('a1', disk);
    c.run(50);
    assert.ok(inc(c, 'a1') > before);
  });

  it('A7: without its database too, once it hears what others know of it', () => {
    const c = crawling(['a1', 'a2']);
    const before = inc(c, 'a1');
    c.kill('a1');
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

  it('A8: under majority, two who hear all and are heard by no other stop before the others', () => {
    const c = crawling(['a1', 'a2', 'a3', 'a4', 'a5'], { quorum: 'majority' });
    for (const x of ['a1', 'a2']) for (const y of ['a3', 'a4', 'a5']) c.cut(x, y);
    c.run(3 * SUSPECT_MS);
    c.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0, 0, 0]);
  });

  it('A8: a vote stays when its giver has removed the suspect: nobody is left behind', () => {
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

  it('A9: with no path one way a third agent relays URLs, lists and heartbeats, steadily', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.cut('a1', 'a2');
    c.run(SUSPECT_MS);
    const since = c.now;
    c.run(2 * SUSPECT_MS);
    // Relayed heartbeats must not pass for the straight path: no flapping.
    for (const { news } of heartbeats(c, 'a2', since)) {
      assert.equal(news.find((n) => n.id === 'a1')?.direct, false);
    }
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal(c.fetched().size, 1200);
  });

  it('A9: a deaf agent that nobody bridges learns of it by the others and is reborn', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const before = inc(c, 'a1');
    c.cut('a1', 'a3');
    c.cut('a2', 'a3');
    c.run(3 * SUSPECT_MS);
    c.heal();
    c.run(SUSPECT_MS);
    assert.ok(inc(c, 'a1') > before);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('A10: a changed capacity comes with a new incarnation and moves hosts politely', () => {
    let capacity = 1;
    const settings = (id: AgentId) => (id === 'a2' ? { capacity } : {});
    const c = crawling(['a1', 'a2'], { settings });
    capacity = 3;
    c.start('a2', c.kill('a2'));
    c.runUntil('a1 knows', () => c.snapshot('a1').members[0]?.capacity === 3);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
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

  it('A12: the wall clock set forwards costs a lease and no more; set back, nothing', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.jump('a1', 3_600_000);
    c.jump('a2', -3_600_000);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal(c.fetched().size, 1200);
  });

  it('A13: when its next in order dies an agent pauses a host from lease to takeover', () => {
    const c = crawling(['a1', 'a2']);
    const died = c.now;
    c.kill('a2');
    c.run(0.98 * SUSPECT_MS - HEARTBEAT_MS);
    const late = c.log.filter((v) => v.start > died + LEASE_MS + HEARTBEAT_MS);
    assert.deepEqual(late, []);
    c.runToEnd();
    assert.ok(c.log.some((v) => v.start > died + SUSPECT_MS));
  });

  it('A14: bulk goes in its own lane: heartbeats and acknowledgements never wait for it', () => {
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

  it('A15: when all are reborn at once the crawl goes on within a few round trips', () => {
    const c = crawling(['a1', 'a2', 'a3', 'a4']);
    for (const id of ['a1', 'a2', 'a3', 'a4']) c.stall(id, LEASE_MS + 50);
    c.run(LEASE_MS + 50 + 4 * HEARTBEAT_MS + DELAY_MS);
    const from = c.now - 2 * HEARTBEAT_MS;
    assert.ok(c.log.some((v) => v.start > from));
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });
});

describe('cases B: join, hand-off, takeover', () => {
  it('B2: who is between two joins waits for both lists; nothing is lost or fetched at once', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a1');
    c.runUntil('a1 crawls', () => c.log.length >= 60);
    c.start('a2');
    c.run(12);
    c.start('a3');
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.equal(c.fetched().size, 1200);
  });

  it('B3: lists and yields are sent again until answered', () => {
    const c = cluster(['a1', 'a2']);
    c.start('a1');
    c.runUntil('a1 crawls', () => c.log.length >= 60);
    const lost = new Map<string, number>();
    c.lose = (from, to, { type }) => {
      if (!['LIST', 'LIST_ACK', 'YIELD', 'YIELD_ACK'].includes(type)) return false;
      const key = `${from} ${to} ${type}`;
      lost.set(key, (lost.get(key) ?? 0) + 1);
      return lost.get(key)! <= 3;
    };
    c.start('a2');
    c.runToEnd();
    assert.ok(lost.size >= 4);
    assert.deepEqual(c.impolite(), []);
    assert.equal(c.fetched().size, 1200);
  });

  it('B4: lists to one who turns out not to be the owner are withdrawn (staggered start)', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a2');
    c.cut('a3', 'a2');
    c.cut('a2', 'a3');
    c.runUntil('a2 crawls alone', () => c.log.length >= 60);
    c.start('a1');
    c.run(15);
    c.start('a3');
    c.run(30);
    c.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('B5: a joiner waits out whoever holds a lease from its former life', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const disk = c.kill('a1');
    c.cut('a2', 'a1');
    c.start('a1', disk);
    c.run(0.5 * SUSPECT_MS);
    assert.equal(c.snapshot('a1').members.length >= 1, true);
    c.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('B5: an agent in view is not long gone because an earlier life of it is', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.start('a2', c.kill('a2'));
    c.run(2 * SUSPECT_MS);
    const since = c.now;
    c.start('a3', c.kill('a3'));
    c.run(50);
    const ages = sentOf(c, 'WELCOME', since).flatMap(({ from, message }) =>
      message.type === 'WELCOME' && from === 'a1'
        ? message.gone.filter((g) => g.id === 'a2').map((g) => g.ageMs)
        : [],
    );
    assert.deepEqual(ages, [0]);
  });

  it('B6: before it has joined, an agent acknowledges no URLs and fetches nothing', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const disk = c.kill('a3');
    c.cut('a2', 'a3');
    const since = c.now;
    c.start('a3', disk);
    c.run(0.4 * SUSPECT_MS);
    if (!c.snapshot('a3').joined) {
      assert.equal(
        c.sent.some((s) => s.at > since && s.from === 'a3' && s.message.type === 'URLS_ACK'),
        false,
      );
      assert.equal(
        c.log.some((v) => v.by === 'a3' && v.start > since),
        false,
      );
    }
    c.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('B7: when all leave at once nobody waits for an heir', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    for (const { id, core } of c.living()) core.leave(c.instant(id));
    c.runToEnd(2 * SUSPECT_MS);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('B7: a leaver that is reborn meets its heirs again and hands over', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.agents.get('a2')!.core.leave(c.instant('a2'));
    c.stall('a2', LEASE_MS + 20);
    c.runUntil('a2 left', () => c.agents.get('a2')!.end !== null);
    assert.equal(c.agents.get('a2')!.end?.reason, 'left the cluster');
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });

  it('B8: a takeover of many hosts goes in steps, and completion waits for the last', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.kill('a2');
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('B10: an unjoined agent obeys a refusal only from one joined or of a smaller name', () => {
    const settings = (id: AgentId) =>
      id === 'a3' ? { fingerprint: 'other', fingerprintHash: 'other' } : {};
    const c = cluster(['a1', 'a2', 'a3'], { settings });
    c.startAll();
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 5]);
  });
});

describe('cases C: acknowledgements', () => {
  it('C6: what is not the receiver’s stays in the outbox until the views agree', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.agents.get('a3')!.core.leave(c.instant('a3'));
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
  });

  it('C9: resent batches do not pile up at a receiver that has not joined', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const disk = c.kill('a2');
    c.cut('a3', 'a2');
    c.start('a2', disk);
    c.run(0.9 * SUSPECT_MS);
    c.heal();
    c.runToEnd();
    const acks = sentOf(c, 'URLS_ACK').filter((s) => s.from === 'a2').length;
    const batches = sentOf(c, 'URLS').filter((s) => s.to === 'a2').length;
    assert.ok(acks <= batches);
  });

  it('C10: a malformed URL is split out of its batch and ends as failed; the rest arrives', () => {
    const c = crawling(['a1', 'a2']);
    const a1 = c.agents.get('a1')!;
    let poison = '';
    for (let i = 0; poison === ''; i++) if (ownerIs(c, 'a2', `h${i}.test`)) poison = `h${i}.test`;
    const bad = `http://${poison}/bad`;
    a1.store.addToOutbox(poison, 'a2', { url: bad, depth: 0 });
    const deliver = c.deliver.bind(c);
    c.deliver = (to, envelope) => {
      const { message, from } = envelope;
      const refused = message.type === 'URLS' && message.urls.some((u) => u.url === bad);
      if (!refused) return deliver(to, envelope);
      const reply = { type: 'BATCH_REFUSED', batch: message.batch, reason: 'bad' } as const;
      deliver(from.id, { from: envelope.to, to: from, message: reply });
    };
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.equal(c.fetched().has(bad), false);
    assert.equal(a1.store.outboxCount(), 0);
  });
});

function ownerIs(c: Cluster, id: AgentId, host: string): boolean {
  return c.log.some((v) => v.host === host && v.by === id);
}

describe('cases D: completion', () => {
  it('D1: it waits for a takeover that is still to come', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const died = c.now;
    c.kill('a2');
    c.runToEnd();
    assert.ok(c.now > died + SUSPECT_MS);
  });

  it('D2: work that comes and goes between two heartbeats starts a new idle period', () => {
    const c = cluster(['a1', 'a2'], {}, 2, 3);
    c.startAll();
    c.runToEnd();
    assert.equal(c.fetched().size, 6);
  });

  it('D3: the word of one that is complete ends no member that still has work', () => {
    const c = crawling(['a1', 'a2']);
    const from = { id: 'a1', inc: inc(c, 'a1') };
    c.deliver('a2', { from, to: { id: 'a2', inc: inc(c, 'a2') }, message: { type: 'COMPLETE' } });
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
  });

  it('D4: complete is never said while anybody has something queued or on its way', () => {
    const c = cluster(['a1', 'a2', 'a3'], { seed: 7, network: NOISY }, 12, 6);
    c.startAll();
    c.runUntil('somebody is complete', () => sentOf(c, 'COMPLETE').length > 0);
    assert.equal(c.fetched().size, 72);
    for (const { store } of c.agents.values()) {
      assert.equal(store.queuedCount() + store.outboxCount(), 0);
    }
    c.runToEnd();
  });

  it('D5: a joiner that comes while the others linger is told, and ends with 0', () => {
    const c = cluster(['a1', 'a2', 'a3'], {}, 4, 4);
    c.start('a1');
    c.start('a2');
    c.lose = (_, __, message) => message.type === 'COMPLETE' && c.living().length < 3;
    c.runUntil('complete', () => sentOf(c, 'COMPLETE').length > 0);
    c.start('a3');
    c.runUntil('a3 has ended', () => c.agents.get('a3')!.end !== null, 200);
    assert.match(c.agents.get('a3')!.end!.reason, /says that the crawl is complete/);
    c.runToEnd();
  });

  it('D5: URLs that come while an agent lingers are crawled, not taken and left', () => {
    const c = cluster(['a1', 'a2'], {}, 4, 4);
    c.startAll();
    c.lose = (_, __, message) => message.type === 'COMPLETE';
    c.runUntil('both are complete', () => {
      return c.living().every(({ id }) => c.snapshot(id).course === 'complete');
    });
    const a1 = c.agents.get('a1')!;
    const host = c.log.find((v) => v.by === 'a1')!.host;
    const urls = [{ url: `http://${host}/late`, depth: 0 }];
    const from = { id: 'a2', inc: inc(c, 'a2') };
    const to = { id: 'a1', inc: inc(c, 'a1') };
    c.deliver('a1', { from, to, message: { type: 'URLS', batch: 1e6, urls } });
    c.runToEnd();
    assert.ok(c.fetched().has(`http://${host}/late`));
    assert.equal(a1.end?.code, 0);
  });

  it('D6: a permanent cut one way does not keep the crawl from ending', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.cut('a1', 'a2');
    c.startAll();
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.deepEqual(c.impolite(), []);
  });
});

const NOISY = { loss: 0.1, duplicate: 0.05, slow: 0.1, slowMs: 250 };
