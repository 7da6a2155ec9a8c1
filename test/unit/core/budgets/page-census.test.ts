// The census where every agent knows all others: which rounds are valid, and what is repeated.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Counted, PageCensus } from '../../../../agent/core/budgets/page-census.ts';
import type { View } from '../../../../agent/core/membership/view.ts';

const at = (mono: number) => ({ mono, wall: mono });
const HEARTBEAT_MS = 100;
const EPOCH = '1@a1.1';

/** a1, with a2 and a3 in its view. */
function counting() {
  const ids = new Set(['a1', 'a2', 'a3']);
  const asked: { id: string; epoch: string; round: number }[] = [];
  const state = { nowMs: 0 };
  const members = () => [...ids].filter((id) => id !== 'a1').map((id) => ({ card: { id } }));
  const census = new PageCensus({
    settings: { id: 'a1', heartbeatMs: HEARTBEAT_MS },
    view: { members } as unknown as View,
    viewHash: () => [...ids].join(),
    count: (id, epoch, round) => asked.push({ id, epoch, round }),
  });
  const take = () => census.take(EPOCH, at(state.nowMs));
  const answer = (id: string, round: number, says: Partial<Counted> = {}) => {
    const nothing = { epoch: EPOCH, pages: 0, base: 0, quiet: true, viewHash: [...ids].join() };
    census.onCounted(id, { ...nothing, round, ...says }, at(state.nowMs));
  };
  /** Every member that is asked answers; values that are not given are zero. */
  const round = (says: Readonly<Record<string, Partial<Counted>>> = {}) => {
    take();
    const due = asked.splice(0);
    for (const { id, round } of due) answer(id, round, says[id]);
    state.nowMs += HEARTBEAT_MS;
    return due;
  };
  return { census, ids, asked, state, take, answer, round };
}

describe('page census', () => {
  it('two rounds must agree; the second one counts', () => {
    const { round, take } = counting();
    round({ a2: { pages: 1, base: 2 } });
    assert.equal(take(), null);
    round({ a2: { pages: 3, base: 4 }, a3: { pages: 5, base: -1 } });
    assert.deepEqual(take(), { pages: 8, base: 3 });
  });

  it('a round is invalid if a host is being handed over, or a view or epoch differs', () => {
    for (const odd of [{ quiet: false }, { viewHash: 'another' }]) {
      const { round, take } = counting();
      round();
      round({ a3: odd });
      assert.equal(take(), null);
      round();
      assert.equal(take(), null, 'the round before was invalid');
      round();
      assert.deepEqual(take(), { pages: 0, base: 0 }, JSON.stringify(odd));
    }
    const { round, take } = counting();
    round();
    round({ a3: { epoch: '0@a9.1' } });
    assert.equal(take(), null);
  });

  it('a change of the view makes both rounds invalid', () => {
    const { round, take, census, ids } = counting();
    round();
    ids.delete('a3');
    census.viewChanged();
    round();
    assert.equal(take(), null);
    round();
    assert.notEqual(take(), null);
  });

  it('a change of the view makes a result invalid that was not taken', () => {
    const { round, take, census } = counting();
    round();
    round();
    census.viewChanged();
    assert.equal(take(), null);
  });

  it('repeats the request to a member that does not answer, and waits for it', () => {
    const { take, answer, asked, state } = counting();
    take();
    const { round } = asked[0]!;
    for (const { id } of asked.splice(0)) if (id !== 'a3') answer(id, round);
    state.nowMs += 1;
    take();
    assert.deepEqual(asked, []);
    state.nowMs += HEARTBEAT_MS;
    take();
    assert.deepEqual(asked, [{ id: 'a3', epoch: EPOCH, round }]);
  });

  it('an answer to an earlier round is ignored', () => {
    const { take, answer, asked, round } = counting();
    const [first] = round();
    take();
    for (const { id } of asked) answer(id, first!.round, { pages: 7 });
    assert.equal(take(), null);
  });

  it('a later epoch begins anew', () => {
    const { census, round, asked } = counting();
    round();
    asked.splice(0);
    assert.equal(census.take('2@a1.1', at(1000)), null);
    assert.deepEqual(new Set(asked.map(({ epoch }) => epoch)), new Set(['2@a1.1']));
  });
});
