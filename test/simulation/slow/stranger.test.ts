// A stranger with other settings that knows the incarnations of the agents. None of its messages
// changes anything, and the agents name it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId, Directive, Message } from '../../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, heartbeats, inc } from '../case-kit.ts';
import type { Cluster } from '../cluster.ts';
import { HEARTBEAT_MS } from '../process.ts';
import { assertUnharmed, attacked, IDS, PAGES, say, ZZ } from '../stranger-stage.ts';

const YEAR_MS = 366 * 24 * 3600 * 1000;

const welcome = (more: Partial<Extract<Message, { type: 'WELCOME' }>>): Message => {
  return { type: 'WELCOME', greeting: 'none', members: [], gone: [], orders: [], ...more };
};

describe('a stranger', () => {
  it('cannot refuse a joining agent', () => {
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
  it('cannot give a directive by a WELCOME', () => attacked(() => welcome({ orders: [pause] })));

  it('cannot report agents as removed', () =>
    attacked((c, to) =>
      welcome({
        gone: [
          { id: to, inc: inc(c, to), ageMs: 0 },
          { id: to === 'a1' ? 'a2' : 'a1', inc: 2 ** 40, ageMs: 0 },
        ],
      }),
    ));

  it('cannot report a second process of an agent', () =>
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

  it('cannot make an agent leave by a LEAVE', () => attacked(() => ({ type: 'LEAVE' })));

  for (const name of ['zz', 'a2']) {
    it(`cannot announce completion to a joining agent, as ${name}`, () => {
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

  it('gets no answer before the agent has an incarnation', () => {
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

  it('cannot give a directive by ORDERS', () =>
    attacked(() => ({ type: 'ORDERS', orders: [{ ...pause, kind: 'refresh', value: 5 }] })));
});

describe('an agent that receives a report about its own incarnation', () => {
  /** Sends a1 heartbeats that report it as removed, at its own or a higher incarnation. */
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
    it(`ignores a removal, ${aheadMs} ms ahead, that a non-member reports`, () => {
      const { c, was } = calledGone(() => ZZ, aheadMs);
      assert.equal(inc(c, 'a1'), was);
      const named = c.snapshot('a1').refused.map(({ agent, claim }) => `${agent} ${claim}`);
      assert.deepEqual(named, ['zz news']);
      c.runToEnd();
      assert.deepEqual(endCodes(c), [0, 0]);
      assert.equal(c.fetched().size, PAGES);
    });
  }

  it('joins again after a previous incarnation of a member reported its removal', () => {
    const { c, was } = calledGone((at) => ({ id: 'a2', inc: inc(at, 'a2') - 1 }), 0);
    assert.ok(inc(c, 'a1') > was);
  });

  it('does not raise its incarnation beyond what others accept, even if a member asks', () => {
    const { c, was } = calledGone((at) => ({ id: 'a2', inc: inc(at, 'a2') }), YEAR_MS);
    assert.equal(inc(c, 'a1'), was);
  });
});

describe('an agent that receives a report about a higher incarnation of itself', () => {
  /** A heartbeat of a2 with this news, from the given sender. */
  function told(from: (c: Cluster) => { id: AgentId; inc: number }): Cluster {
    const c = crawling(IDS);
    const card = { id: 'a1', inc: inc(c, 'a1') + 5, capacity: 1, address: 'tcp://192.0.2.9:1' };
    const news = [{ ...card, counter: 1, joined: true, direct: true }];
    const [beat] = heartbeats(c, 'a2', 0).slice(-1);
    say(c, 'a1', { ...beat!, counter: beat!.counter + 1, news }, from(c));
    c.run(1);
    return c;
  }

  it('ends with 5 if a member reports it: another process runs under its identifier', () => {
    const c = told((at) => ({ id: 'a2', inc: inc(at, 'a2') }));
    assert.deepEqual(c.agents.get('a1')?.end?.code, 5);
  });

  it('continues and names the sender if a non-member with the same settings reports it', () => {
    const c = told(() => ZZ);
    const named = c.snapshot('a1').refused.map(({ agent, claim }) => `${agent} ${claim}`);
    assert.deepEqual(named, ['zz news']);
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0]);
    assert.equal(c.fetched().size, PAGES);
  });
});
