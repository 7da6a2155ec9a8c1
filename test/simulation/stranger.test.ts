// A stranger whose settings do not agree, and who knows the incarnations of the agents: by nothing that
// it says is anything changed, and the agents name it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId, Directive, Message } from '../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, heartbeats, inc } from './case-kit.ts';
import { type Cluster, SUSPECT_MS } from './cluster.ts';
import { HEARTBEAT_MS } from './process.ts';

const IDS = ['a1', 'a2'] as const;
const ZZ = { id: 'zz', inc: 5 };
const PAGES = 1200;
const YEAR_MS = 366 * 24 * 3600 * 1000;

function say(c: Cluster, to: AgentId, message: Message, from = ZZ): void {
  c.deliver(to, { from, to: { id: to, inc: inc(c, to) }, message });
}

const welcome = (more: Partial<Extract<Message, { type: 'WELCOME' }>>): Message => {
  return { type: 'WELCOME', greeting: 'none', members: [], gone: [], orders: [], ...more };
};

function assertUnharmed(c: Cluster, incs: readonly number[]): void {
  assert.deepEqual(endCodes(c), [0, 0]);
  assert.equal(c.fetched().size, PAGES);
  assert.deepEqual(c.impolite(), []);
  const events = (id: AgentId, kind: string) => {
    const { db } = c.disks.get(id)!;
    return db.prepare('SELECT detail FROM events WHERE kind = ?').pluck().all(kind).map(String);
  };
  for (const [k, id] of IDS.entries()) {
    assert.ok(
      events(id, 'refused').some((detail) => JSON.parse(detail).agent === 'zz'),
      `${id} does not name it`,
    );
    for (const kind of ['order', 'rejoin', 'suspect']) assert.deepEqual(events(id, kind), []);
    assert.equal(c.disks.get(id)!.db.prepare('SELECT count(*) FROM order_rows').pluck().get(), 0);
    assert.equal(c.agents.get(id)!.store.incarnation(), incs[k]);
  }
}

/** Says it to both in the middle of a crawl. */
function attacked(messageFor: (c: Cluster, to: AgentId) => Message): void {
  const c = crawling(IDS);
  const incs = IDS.map((id) => inc(c, id));
  for (const id of IDS) say(c, id, messageFor(c, id));
  c.run(SUSPECT_MS);
  assert.deepEqual(
    c.snapshot('a1').members.map(({ id }) => id),
    ['a2'],
  );
  c.runToEnd();
  assertUnharmed(c, incs);
}

describe('a stranger', () => {
  for (const name of ['zz', 'a2']) {
    it(`cannot say to an agent that joins that the crawl is complete, as ${name}`, () => {
      const c = cluster(IDS);
      c.startAll();
      c.run(1);
      const incs = IDS.map((id) => inc(c, id));
      const from = { id: name, inc: name === 'zz' ? ZZ.inc : inc(c, 'a2') };
      assert.equal(c.snapshot('a1').joined, false);
      say(c, 'a1', { type: 'COMPLETE' }, from);
      say(c, 'a1', { type: 'COMPLETE', greeting: 'none' }, from);
      for (const id of IDS) say(c, id, { type: 'COMPLETE' });
      c.runToEnd();
      assertUnharmed(c, incs);
    });
  }

  it('is not answered before the agent has an incarnation', () => {
    const c = cluster(IDS);
    c.start('a1');
    const { core, effects } = c.agents.get('a1')!;
    const address = 'tcp://192.0.2.9:1';
    const message = { type: 'HELLO', capacity: 1, address, fingerprint: 'x', n: 0 } as const;
    const hello = { from: ZZ, to: { id: 'a1', inc: 0 }, message };
    core.onMessage(hello, c.instant('a1'));
    assert.deepEqual(effects.take(), []);
    c.run(1);
    core.onMessage(hello, c.instant('a1'));
    assert.equal(effects.take().length, 1);
  });

  it('cannot refuse an agent that joins', () => {
    const c = cluster(IDS);
    c.startAll();
    c.run(1);
    const incs = IDS.map((id) => inc(c, id));
    const refused = { type: 'REFUSED', path: 'x', yours: 'a', theirs: 'b', joined: true } as const;
    for (const id of IDS) say(c, id, refused);
    c.runToEnd();
    assertUnharmed(c, incs);
  });

  const pause: Directive = { kind: 'pause', host: '', value: 1, n: 5, by: 'zz' };
  it('cannot give an order by a WELCOME', () => attacked(() => welcome({ orders: [pause] })));

  it('cannot give an order by ORDERS', () =>
    attacked(() => ({ type: 'ORDERS', orders: [{ ...pause, kind: 'refresh', value: 5 }] })));

  it('cannot say that agents are gone', () =>
    attacked((c, to) =>
      welcome({
        gone: [
          { id: to, inc: inc(c, to), ageMs: 0 },
          { id: to === 'a1' ? 'a2' : 'a1', inc: 2 ** 40, ageMs: 0 },
        ],
      }),
    ));

  it('cannot say that another process runs as the agent', () =>
    attacked((c, to) => {
      const card = { id: to, inc: inc(c, to) + 5, capacity: 1, address: 'tcp://192.0.2.9:1' };
      return welcome({ members: [{ ...card, counter: 1, joined: true, direct: true }] });
    }));

  it('cannot invent members', () =>
    attacked(() => {
      const members = Array.from({ length: 1000 }, (_, k) => {
        const card = { id: `g${k}`, inc: 5, capacity: 1000, address: `tcp://192.0.2.9:${k + 1}` };
        return { ...card, counter: 1, joined: true, direct: true };
      });
      return welcome({ members });
    }));

  it('cannot send an agent off', () => attacked(() => ({ type: 'LEAVE' })));
});

describe('an agent that is told of a higher incarnation of itself', () => {
  /** A heartbeat of a2 with that news, from whom the test says. */
  function told(from: (c: Cluster) => { id: AgentId; inc: number }): Cluster {
    const c = crawling(IDS);
    const card = { id: 'a1', inc: inc(c, 'a1') + 5, capacity: 1, address: 'tcp://192.0.2.9:1' };
    const news = [{ ...card, counter: 1, joined: true, direct: true }];
    const [beat] = heartbeats(c, 'a2', 0).slice(-1);
    say(c, 'a1', { ...beat!, counter: beat!.counter + 1, news }, from(c));
    c.run(1);
    return c;
  }

  it('by a member ends with 5: another process runs under its identifier', () => {
    const c = told((at) => ({ id: 'a2', inc: inc(at, 'a2') }));
    assert.deepEqual(c.agents.get('a1')?.end?.code, 5);
  });

  it('by one that is no member, though its settings agree, goes on, and names it', () => {
    const c = told(() => ZZ);
    const named = c.snapshot('a1').refused.map(({ agent, claim }) => `${agent} ${claim}`);
    assert.deepEqual(named, ['zz news']);
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0]);
    assert.equal(c.fetched().size, PAGES);
  });

  /** A heartbeat after which a1 might go on above that incarnation of it, again and again. */
  function calledGone(from: (c: Cluster) => { id: AgentId; inc: number }, aheadMs: number) {
    const c = crawling(IDS);
    const was = inc(c, 'a1');
    for (let k = 0; k < 10; k++) {
      const [beat] = heartbeats(c, 'a2', 0).slice(-1);
      const gone = [{ id: 'a1', inc: aheadMs === 0 ? inc(c, 'a1') : c.now + aheadMs }];
      say(c, 'a1', { ...beat!, gone, suspects: gone }, from(c));
      c.run(HEARTBEAT_MS);
    }
    return { c, was };
  }

  for (const aheadMs of [0, YEAR_MS]) {
    it(`that is said to be gone, ${aheadMs} ms ahead, by one that is no member, goes on`, () => {
      const { c, was } = calledGone(() => ZZ, aheadMs);
      assert.equal(inc(c, 'a1'), was);
      const named = c.snapshot('a1').refused.map(({ agent, claim }) => `${agent} ${claim}`);
      assert.deepEqual(named, ['zz news']);
      c.runToEnd();
      assert.deepEqual(endCodes(c), [0, 0]);
      assert.equal(c.fetched().size, PAGES);
    });
  }

  it('and gone by a former life of a member joins anew', () => {
    const { c, was } = calledGone((at) => ({ id: 'a2', inc: inc(at, 'a2') - 1 }), 0);
    assert.ok(inc(c, 'a1') > was);
  });

  it('is not driven beyond what others believe, not by a member either', () => {
    const { c, was } = calledGone((at) => ({ id: 'a2', inc: inc(at, 'a2') }), YEAR_MS);
    assert.equal(inc(c, 'a1'), was);
  });
});
