// How many identifiers agents outside the view can make this agent compute. A capacity of 1 is one
// identifier here.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MemberCard } from '../../../../agent/core/protocol/messages.ts';
import { Claims } from '../../../../agent/kademlia/routing/claims.ts';

const KEEP_MS = 1000;

function stageOf(ids = 1) {
  const dropped: string[] = [];
  const claims = new Claims({
    ids,
    everyMs: 100,
    keepMs: KEEP_MS,
    dropped: (id) => dropped.push(id),
  });
  const cardOf = (id: string, capacity: number, inc = 1): MemberCard => {
    return { id, inc, capacity, address: `tcp://${id}` };
  };
  const counts = (id: string, capacity: number, now = 0, inc = 1) =>
    claims.count(cardOf(id, capacity, inc), undefined, now);
  return { claims, dropped, counts, cardOf };
}

describe('claims of agents outside the view', () => {
  it('of a few identifiers always count', () => {
    const { counts } = stageOf();
    for (let i = 0; i < 1000; i++) assert.equal(counts(`n${i}`, 128), true);
    const four = stageOf(4);
    for (let i = 0; i < 1000; i++) assert.equal(four.counts(`n${i}`, 32), true);
  });

  it('of more identifiers have a maximum together', () => {
    const { counts } = stageOf();
    const taken = Array.from({ length: 500 }, (_, i) => counts(`n${i}`, 1000)).filter((is) => is);
    assert.equal(taken.length, 16);
    assert.equal(counts('n0', 1000), true, 'it has its place');
    assert.equal(counts('small', 1), true);
    const most = stageOf(16);
    assert.deepEqual([most.counts('x', 1000), most.counts('y', 1000)], [true, false]);
  });

  it('lose their places after a while, if others need them', () => {
    const { counts, claims, dropped, cardOf } = stageOf();
    for (let i = 0; i < 16; i++) {
      counts(`n${i}`, 1000, i);
      claims.meet(cardOf(`n${i}`, 1000));
    }
    assert.equal(counts('late', 1000, KEEP_MS - 1), false);
    assert.deepEqual(dropped, []);
    assert.equal(counts('late', 1300, KEEP_MS + 5), true);
    assert.deepEqual(dropped, ['n0']);
    assert.equal(claims.met('n0'), null);
    assert.notEqual(claims.met('n1'), null);
    assert.equal(counts('n1', 1000, KEEP_MS + 5), true);
  });

  it('change their many identifiers once in a while', () => {
    const { counts, dropped } = stageOf();
    assert.equal(counts('x', 1000), true);
    for (let i = 1; i < 300; i++) assert.equal(counts('x', 1000 - i / 1000, i, i + 1), false);
    assert.equal(counts('x', 900, KEEP_MS, 1000), true);
    assert.deepEqual(dropped, ['x']);
  });

  it('cannot change the capacity of an incarnation, nor that of a member', () => {
    const { claims, counts, cardOf } = stageOf();
    claims.meet(cardOf('x', 1));
    assert.equal(counts('x', 2), false);
    assert.equal(counts('x', 2, 0, 2), true);
    const member = cardOf('m', 5000);
    assert.equal(claims.count(cardOf('m', 5000, 7), member, 0), true);
    assert.equal(claims.count(cardOf('m', 1), member, 0), false);
  });

  it('of many identifiers are noted once in a heartbeat', () => {
    const { claims, counts } = stageOf();
    counts('x', 1000);
    const due = [0, 99, 100, 150].map((now) => claims.isDue('x', now));
    assert.deepEqual(due, [true, false, true, false]);
    assert.deepEqual([claims.isDue('small', 0), claims.isDue('small', 0)], [true, true]);
  });
});
