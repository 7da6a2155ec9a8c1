// A stranger with other settings that knows the incarnations of the agents. None of its messages
// changes anything, and the agents name it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId, Directive } from '../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, heartbeats, inc } from './case-kit.ts';
import type { Cluster } from './cluster.ts';
import { assertUnharmed, attacked, IDS, PAGES, say, ZZ } from './stranger-stage.ts';

describe('a stranger', () => {
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

  const pause: Directive = { kind: 'pause', host: '', value: 1, n: 5, by: 'zz' };

  it('cannot give a directive by ORDERS', () =>
    attacked(() => ({ type: 'ORDERS', orders: [{ ...pause, kind: 'refresh', value: 5 }] })));
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
