// The owner of the page limit by itself: when it takes a census, what it grants, and the effect of
// late, lost and repeated messages. page-budget-limit.test.ts tests it with the requesting agents.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PagesAsk, PagesGrant } from '../../../../agent/core/budgets/page-budget.ts';
import { PageGrants } from '../../../../agent/core/budgets/page-grants.ts';
import type { PageCount } from '../../../../agent/core/membership/overlay.ts';
import type { View } from '../../../../agent/core/membership/view.ts';

const at = (mono: number) => ({ mono, wall: mono });
const HEARTBEAT_MS = 100;
const EARLIER = '5@a9.1';

/** a1, which owns the limit, with a2 and a3 in its view. */
function owner(pagesMax: number, knowsAll = true) {
  const incs = new Map([
    ['a2', 1],
    ['a3', 1],
  ]);
  const granted: { id: string; grant: PagesGrant }[] = [];
  const state = { nowMs: 0, joined: true, count: null as PageCount | null };
  const epochs: string[] = [];
  const view = {
    get joined() {
      return state.joined;
    },
    get size() {
      return incs.size;
    },
    get: (id: string) => (incs.has(id) ? { card: { id, inc: incs.get(id)! } } : undefined),
  };
  const grants = new PageGrants({
    settings: { id: 'a1', heartbeatMs: HEARTBEAT_MS, pagesMax },
    view: view as unknown as View,
    inc: () => 1,
    knowsAll,
    answer: (id, grant) => granted.push({ id, grant }),
    begin: (epoch) => epochs.push(epoch),
    census: (epoch) => (epoch === epochs.at(-1) ? state.count : null),
  });
  const now = () => at(state.nowMs);
  const ask = (id: string, counters: Partial<PagesAsk> & { wanted: number }) => {
    const epoch = epochs.at(-1) ?? '';
    grants.onAsk(id, incs.get(id)!, { epoch, granted: 0, returned: 0, ...counters }, now());
  };
  /** A census finds these pages, and agents with these tokens of earlier epochs. */
  const count = (pages = 0, tokens = 0) => {
    state.nowMs += HEARTBEAT_MS;
    state.count = { pages, base: pages + tokens };
    const before = epochs.length;
    grants.pump(now());
    state.count = null;
    return epochs.length > before;
  };
  const leave = (id: string) => {
    incs.delete(id);
    grants.viewChanged();
  };
  const restart = (id: string) => incs.set(id, incs.get(id)! + 1);
  /** The tokens of each agent so far, by the latest message to it. */
  const take = () => {
    const words = granted.splice(0);
    return Object.fromEntries(words.map(({ id, grant }) => [id, grant.granted]));
  };
  /** The first census, because an agent waits. */
  const begin = (pages = 0) => {
    ask('a2', { wanted: 1, epoch: '' });
    assert.ok(count(pages));
    take();
  };
  return { state, grants, granted, epochs, ask, count, leave, restart, take, begin };
}

describe('page grants', () => {
  it('grants nothing before a census is complete', () => {
    const { ask, count, take, grants, state, epochs } = owner(100);
    ask('a2', { wanted: 5, epoch: '' });
    grants.pump(at(0));
    assert.deepEqual(epochs, ['1@a1.1']);
    ask('a2', { wanted: 5 });
    assert.deepEqual(take(), { a2: 0 });
    assert.equal(state.count, null);
    count();
    ask('a2', { wanted: 5 });
    assert.deepEqual(take(), { a2: 5 });
  });

  it('takes no census before an agent waits, and none before it has joined', () => {
    const { ask, count, state } = owner(100);
    assert.equal(count(), false);
    ask('a2', { wanted: 5, epoch: '' });
    state.joined = false;
    assert.equal(count(), false);
    state.joined = true;
    assert.equal(count(), true);
  });

  it('an agent of another epoch is told the present one, and gets nothing', () => {
    const { ask, begin, granted, epochs } = owner(100);
    begin();
    ask('a3', { wanted: 5, epoch: '', granted: 3 });
    assert.deepEqual(granted.at(-1), {
      id: 'a3',
      grant: { type: 'PAGES_GRANT', epoch: epochs[0]!, granted: 0, returned: 0, over: false },
    });
  });

  it('begins an epoch after that of an earlier owner, whose tokens only a census can find', () => {
    const { ask, begin, count, take, epochs, grants } = owner(100);
    begin();
    grants.heard(EARLIER);
    ask('a3', { wanted: 5, epoch: EARLIER, granted: 3 });
    assert.deepEqual(take(), {});
    ask('a2', { wanted: 5 });
    assert.deepEqual(take(), {}, 'nothing is granted in the epoch before');
    count();
    assert.equal(epochs.at(-1), '6@a1.1');
    ask('a2', { wanted: 5 });
    assert.deepEqual(take(), { a2: 5 });
  });

  it('grants smaller portions as the limit comes closer', () => {
    const { ask, begin, take } = owner(100);
    begin();
    const portions: number[] = [];
    let has = 0;
    for (;;) {
      ask('a2', { wanted: 1000, granted: has });
      const more = (take().a2 ?? has) - has;
      if (more === 0) break;
      portions.push(more);
      has += more;
    }
    assert.deepEqual(portions.slice(0, 3), [16, 14, 11], 'a sixth of what is left');
    assert.deepEqual(portions.slice(-4), [1, 1, 1, 1]);
    assert.equal(has, 100);
  });

  it('never grants more than the limit in total', () => {
    const { ask, begin, take } = owner(20);
    begin();
    const has: Record<string, number> = {};
    for (let k = 0; k < 60; k++) {
      const id = k % 2 === 0 ? 'a2' : 'a3';
      ask(id, { wanted: 1000, granted: has[id] ?? 0 });
      Object.assign(has, take());
    }
    assert.equal(has.a2! + has.a3!, 20);
  });

  it('grants returned tokens to others, once', () => {
    const { ask, begin, take } = owner(2);
    begin();
    ask('a2', { wanted: 2 });
    ask('a2', { wanted: 2, granted: 1 });
    take();
    ask('a3', { wanted: 2 });
    assert.deepEqual(take(), { a3: 0 });
    ask('a2', { wanted: 2, granted: 2, returned: 1 });
    ask('a2', { wanted: 2, granted: 2, returned: 1 });
    ask('a2', { wanted: 2, granted: 2, returned: 0 });
    take();
    ask('a3', { wanted: 2 });
    ask('a3', { wanted: 2, granted: 1 });
    assert.deepEqual(take(), { a3: 1 }, 'reported three times, returned once');
  });

  it('confirms returned tokens of earlier epochs, and counts them until the next census', () => {
    const { ask, begin, granted, take } = owner(2);
    begin();
    ask('a2', { wanted: 1 });
    ask('a2', { wanted: 1, granted: 1, returned: 1000 });
    assert.equal(granted.at(-1)?.grant.returned, 1000);
    take();
    for (let has = 0; has < 5; has++) ask('a3', { wanted: 9, granted: has });
    assert.deepEqual(take(), { a3: 2 });
  });

  it('a late or repeated request gets no further tokens', () => {
    const { ask, begin, granted } = owner(100);
    begin();
    for (let k = 0; k < 4; k++) ask('a2', { wanted: 5, granted: 0 });
    const words = granted.map(({ grant }) => grant.granted);
    assert.deepEqual(words, [5, 5, 5, 5]);
  });

  it('grants the tokens of a removed agent again after a census, not before', () => {
    const { ask, begin, count, take, leave } = owner(3);
    begin();
    for (const granted of [0, 1, 2]) ask('a2', { wanted: 3, granted });
    assert.deepEqual(take(), { a2: 3 });
    leave('a2');
    ask('a3', { wanted: 3 });
    assert.deepEqual(take(), { a3: 0 });
    count(1);
    for (const granted of [0, 1, 2]) ask('a3', { wanted: 3, granted });
    assert.deepEqual(take(), { a3: 2 }, 'one of its three pages moved to others');
  });

  it('takes a census after the loss of a member, even if tokens are left', () => {
    for (const knowsAll of [true, false]) {
      const { ask, begin, count, leave } = owner(100, knowsAll);
      begin();
      ask('a2', { wanted: 5 });
      leave('a2');
      ask('a3', { wanted: 1000 });
      assert.equal(count(), knowsAll, 'in a partial view the agent may still be there');
    }
  });

  it('tokens of an ended incarnation count as used until the next census', () => {
    const { ask, begin, count, take, restart } = owner(3);
    begin();
    for (const granted of [0, 1, 2]) ask('a2', { wanted: 3, granted });
    restart('a2');
    ask('a2', { wanted: 3 });
    assert.deepEqual(take(), { a2: 0 });
    count(2);
    ask('a2', { wanted: 3 });
    assert.deepEqual(take(), { a2: 1 });
  });

  it('grants on during a census, with all tokens granted before counted as spent', () => {
    const { ask, begin, take, leave, grants, state, epochs } = owner(10);
    begin();
    for (const granted of [0, 1, 2, 3, 4]) ask('a2', { wanted: 5, granted });
    leave('a2');
    ask('a3', { wanted: 9 });
    take();
    state.nowMs += HEARTBEAT_MS;
    grants.pump(at(state.nowMs));
    assert.equal(epochs.length, 2);
    for (let has = 0; has < 9; has++) ask('a3', { wanted: 9, granted: has });
    assert.deepEqual(take(), { a3: 4 });
  });

  it('the limit is reached by fetched pages, not by granted tokens', () => {
    const { ask, begin, count, granted } = owner(2);
    begin();
    for (const has of [0, 1, 2]) ask('a2', { wanted: 3, granted: has });
    count(1, 1);
    ask('a2', { wanted: 1 });
    assert.equal(granted.at(-1)?.grant.over, false);
    count(2);
    ask('a2', { wanted: 1 });
    assert.equal(granted.at(-1)?.grant.over, true);
    assert.equal(granted.at(-1)?.grant.granted, 0);
  });

  it('counts pages of an earlier launch', () => {
    const { ask, begin, count, take, granted } = owner(10);
    begin(9);
    ask('a2', { wanted: 10 });
    assert.deepEqual(take(), { a2: 1 });
    ask('a2', { wanted: 10, granted: 1 });
    count(10);
    ask('a2', { wanted: 9 });
    assert.equal(granted.at(-1)?.grant.over, true);
  });

  it('takes no census while tokens are left', () => {
    const { ask, begin, count } = owner(100);
    begin();
    assert.equal(count(), false);
    ask('a2', { wanted: 6 });
    assert.equal(count(), false);
  });
});
