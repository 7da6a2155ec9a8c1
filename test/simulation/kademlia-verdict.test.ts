// The verdict that the crawl is complete, in a cluster of agents that know only their neighbours.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster, endCodes, inc, sentOf } from './case-kit.ts';

const IDS = Array.from({ length: 12 }, (_, n) => `a${n}`);
const kademlia = { contacts: ['a0', 'a1'], ids: 1, neighbourhood: 4, bucketSize: 4 };

function settled() {
  const c = cluster(IDS, { kademlia, backups: 1 }, 24, 4);
  c.startAll();
  return c;
}

describe('the verdict of a partial view', () => {
  it('reaches every agent, and covers the idle period of each', () => {
    const c = settled();
    c.runToEnd();
    assert.deepEqual(new Set(endCodes(c)), new Set([0]));
    const told = new Set<string>();
    for (const { to, message } of sentOf(c, 'COMPLETE')) {
      if (message.type === 'COMPLETE' && message.covers) told.add(to);
    }
    const leaders = new Set(sentOf(c, 'TREE_DONE').map(({ to }) => to));
    assert.ok(leaders.size > 1, 'one agent knows all others: the view is not partial');
    for (const id of IDS) assert.ok(told.has(id) || leaders.has(id), id);
  });

  it('of an earlier idle period, or without one, ends no agent', () => {
    const c = settled();
    c.lose = (_, __, message) => message.type === 'TREE_TOLD';
    const lastOf = (id: string) => {
      const beat = sentOf(c, 'HEARTBEAT').findLast(({ from }) => from === id)?.message;
      return beat?.type === 'HEARTBEAT' ? beat : null;
    };
    c.runUntil('all agents are idle', () => IDS.every((id) => lastOf(id)?.idle), 60_000);
    const { from: id } = sentOf(c, 'URLS').at(-1)!;
    const member = sentOf(c, 'HEARTBEAT').findLast(({ to }) => to === id)!.from;
    const { idleSince } = lastOf(id)!;
    const say = (covered?: number) => {
      const from = { id: member, inc: inc(c, member) };
      const covers = { idleSince: covered ?? 0, wave: 'w' };
      const message = { type: 'COMPLETE' as const, ...(covered !== undefined && { covers }) };
      c.deliver(id, { from, to: { id, inc: inc(c, id) }, message });
      c.run(200);
      return c.snapshot(id).lifecycle;
    };
    assert.equal(say(), 'crawling');
    assert.equal(say(idleSince - 1), 'crawling');
    assert.equal(say(idleSince), 'complete');
  });
});
