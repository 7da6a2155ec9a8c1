// The owner of the page limit by itself: when it counts, what it grants, and the effect of late,
// lost and repeated messages. page-budget-limit.test.ts tests it with the requesting agents.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PagesGrant } from '../../../../agent/core/budgets/page-budget.ts';
import { type Counted, PageGrants } from '../../../../agent/core/budgets/page-grants.ts';
import type { View } from '../../../../agent/core/membership/view.ts';

const at = (mono: number) => ({ mono, wall: mono });
const HEARTBEAT_MS = 100;

/** A view that has only members. */
function viewOf(incs: ReadonlyMap<string, number>, me: string, state: { joined: boolean }): View {
  const others = () => [...incs].filter(([id]) => id !== me);
  const member = (id: string, inc: number) => ({ card: { id, inc } });
  const view = {
    get joined() {
      return state.joined;
    },
    get size() {
      return others().length;
    },
    members: () => others().map(([id, inc]) => member(id, inc)),
    get: (id: string) => (id !== me && incs.has(id) ? member(id, incs.get(id)!) : undefined),
  };
  return view as unknown as View;
}

interface Said extends Pick<Counted, 'pages' | 'held' | 'session' | 'granted' | 'returned'> {
  readonly viewHash: string;
  readonly quiet: boolean;
}

/** a1, which owns the limit, with a2 and a3 in its view. */
function owner(pagesMax: number) {
  const incs = new Map([
    ['a1', 1],
    ['a2', 1],
    ['a3', 1],
  ]);
  const granted: { id: string; grant: PagesGrant }[] = [];
  const asked: { id: string; round: number }[] = [];
  const state = { nowMs: 0, joined: true };
  const grants = new PageGrants({
    settings: { id: 'a1', heartbeatMs: HEARTBEAT_MS, pagesMax },
    view: viewOf(incs, 'a1', state),
    viewHash: () => JSON.stringify([...incs]),
    answer: (id, grant) => granted.push({ id, grant }),
    count: (id, round) => asked.push({ id, round }),
  });
  const now = () => at(state.nowMs);
  const ask = (id: string, counters: Partial<Said> & { wanted: number }) => {
    const word = { session: 1, granted: 0, returned: 0, ...counters };
    grants.onAsk(id, incs.get(id)!, word, now());
  };
  /** Every member that is asked to count answers; values that are not given are zero. */
  const round = (says: Readonly<Record<string, Partial<Said>>> = {}) => {
    state.nowMs += HEARTBEAT_MS;
    grants.pump(now());
    const due = asked.splice(0);
    for (const { id, round } of due) {
      const nothing = { pages: 0, held: 0, session: 1, granted: 0, returned: 0, quiet: true };
      const word = { ...nothing, viewHash: JSON.stringify([...incs]), ...says[id] };
      grants.onCounted(id, { round, inc: incs.get(id)!, ...word }, now());
    }
    return due.length;
  };
  const count = (says: Parameters<typeof round>[0] = {}) => {
    round(says);
    round(says);
  };
  const leave = (id: string) => {
    incs.delete(id);
    grants.viewChanged();
  };
  /** The tokens of each agent so far, by the latest message to it. */
  const take = () => {
    const words = granted.splice(0);
    return Object.fromEntries(words.map(({ id, grant }) => [id, grant.granted]));
  };
  return { state, grants, granted, asked, ask, round, count, leave, take };
}

describe('page grants', () => {
  it('grants nothing before all members were counted twice, and agree', () => {
    const { ask, round, take } = owner(100);
    ask('a2', { wanted: 5 });
    assert.deepEqual(take(), {});
    round();
    assert.deepEqual(take(), {});
    round();
    assert.deepEqual(take(), { a2: 5 });
  });

  it('a count is invalid if a host is being handed over or a view differs', () => {
    for (const odd of [{ quiet: false }, { viewHash: 'another' }]) {
      const { ask, round, take } = owner(100);
      ask('a2', { wanted: 5 });
      round();
      round({ a3: odd });
      round();
      assert.deepEqual(take(), {}, JSON.stringify(odd));
      round();
      assert.deepEqual(take(), { a2: 5 });
    }
  });

  it('repeats the request to a member that does not answer, and waits for it', () => {
    const { ask, grants, asked, granted } = owner(100);
    ask('a2', { wanted: 5 });
    grants.pump(at(1000));
    const nothing = { pages: 0, held: 0, session: 1, granted: 0, returned: 0, quiet: true };
    const word = { round: 1, inc: 1, viewHash: JSON.stringify([]), ...nothing };
    for (const { id } of asked.splice(0)) if (id !== 'a3') grants.onCounted(id, word, at(1000));
    grants.pump(at(1001));
    assert.deepEqual(asked, []);
    grants.pump(at(1000 + HEARTBEAT_MS));
    assert.deepEqual(asked, [{ id: 'a3', round: 1 }]);
    assert.equal(granted.length, 0);
  });

  it('grants smaller portions as the limit comes closer', () => {
    const { ask, count, take } = owner(100);
    ask('a2', { wanted: 1 });
    count();
    take();
    const portions: number[] = [];
    let has = 1;
    for (;;) {
      ask('a2', { wanted: 1000, granted: has });
      const more = (take().a2 ?? has) - has;
      if (more === 0) break;
      portions.push(more);
      has += more;
    }
    assert.deepEqual(portions.slice(0, 3), [16, 13, 11], 'a sixth of what is left');
    assert.deepEqual(portions.slice(-4), [1, 1, 1, 1]);
    assert.equal(has, 100);
  });

  it('never grants more than the limit in total', () => {
    const { ask, count, take } = owner(20);
    ask('a2', { wanted: 1000 });
    ask('a3', { wanted: 1000 });
    count();
    const has: Record<string, number> = take();
    for (let k = 0; k < 60; k++) {
      const id = k % 2 === 0 ? 'a2' : 'a3';
      ask(id, { wanted: 1000, granted: has[id] ?? 0 });
      Object.assign(has, take());
    }
    assert.equal(has.a2! + has.a3!, 20);
  });

  it('grants returned tokens to others, once', () => {
    const { ask, count, take } = owner(2);
    ask('a2', { wanted: 2 });
    count();
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

  it('counts no more tokens as returned than were granted', () => {
    const { ask, count, take } = owner(2);
    ask('a2', { wanted: 1 });
    count();
    ask('a2', { wanted: 1, granted: 1, returned: 1000 });
    take();
    for (let granted = 0; granted < 5; granted++) ask('a3', { wanted: 9, granted });
    assert.deepEqual(take(), { a3: 2 });
  });

  it('a late or repeated request gets no further tokens', () => {
    const { ask, count, granted } = owner(100);
    ask('a2', { wanted: 5 });
    count();
    for (let k = 0; k < 3; k++) ask('a2', { wanted: 5, granted: 0 });
    const words = granted.map(({ grant }) => grant.granted);
    assert.deepEqual(words, [5, 5, 5, 5]);
  });

  it('an agent must start a new session if the owner does not know its counters', () => {
    const { ask, granted, grants } = owner(100);
    ask('a2', { wanted: 5, granted: 3, session: 4 });
    assert.deepEqual(granted.at(-1)?.grant.restart, true);
    assert.deepEqual(granted.at(-1)?.grant.session, 4);
    ask('a2', { wanted: 5, session: 5 });
    ask('a2', { wanted: 9, granted: 3, session: 4 });
    assert.equal(granted.length, 1, 'a request of an earlier session is ignored');
    grants.reset();
    ask('a2', { wanted: 5, granted: 1, session: 5 });
    assert.equal(granted.at(-1)?.grant.restart, true, 'a new owner knows no session');
  });

  it('grants the tokens of a removed agent again after a count, not before', () => {
    const { ask, count, round, take, leave } = owner(3);
    ask('a2', { wanted: 3 });
    count();
    for (const granted of [1, 2]) ask('a2', { wanted: 3, granted });
    assert.deepEqual(take(), { a2: 3 });
    leave('a2');
    ask('a3', { wanted: 3 });
    round({ a1: { pages: 1 } });
    assert.deepEqual(take(), { a3: 0 });
    round({ a1: { pages: 1 } });
    for (const granted of [1, 2]) ask('a3', { wanted: 3, granted });
    assert.deepEqual(take(), { a3: 2 }, 'one of its three pages moved to others');
  });

  it('counts after the loss of an agent, even if tokens are left', () => {
    const { ask, count, round, leave } = owner(100);
    ask('a2', { wanted: 5 });
    count();
    leave('a2');
    ask('a3', { wanted: 1000 });
    assert.equal(round(), 2);
  });

  it('tokens of an ended session count as used until the next count', () => {
    const { ask, count, take } = owner(3);
    ask('a2', { wanted: 3 });
    count();
    for (const granted of [1, 2]) ask('a2', { wanted: 3, granted });
    ask('a2', { wanted: 3, session: 2 });
    assert.deepEqual(take(), { a2: 0 });
    count({ a2: { pages: 2, session: 2 } });
    assert.deepEqual(take(), { a2: 1 });
  });

  it('a count is invalid if an agent starts a new session during it', () => {
    const { ask, grants, state, asked, round, take } = owner(3);
    ask('a2', { wanted: 3 });
    round();
    state.nowMs += HEARTBEAT_MS;
    grants.pump(at(state.nowMs));
    const viewHash = JSON.stringify([...['a1', 'a2', 'a3'].map((id) => [id, 1])]);
    const answer = (id: string) => {
      const { round } = asked.find((asked) => asked.id === id)!;
      const nothing = { pages: 0, held: 0, session: 1, granted: 0, returned: 0, quiet: true };
      grants.onCounted(id, { ...nothing, round, inc: 1, viewHash }, at(state.nowMs));
    };
    answer('a1');
    answer('a2');
    ask('a2', { wanted: 3, session: 2 });
    answer('a3');
    assert.deepEqual(take(), {});
  });

  it('the limit is reached by fetched pages, not by granted tokens', () => {
    const { ask, count, granted } = owner(2);
    ask('a2', { wanted: 2 });
    count();
    for (const has of [1, 2]) ask('a2', { wanted: 3, granted: has });
    count({ a2: { pages: 1, held: 1, granted: 2 } });
    assert.equal(granted.at(-1)?.grant.over, false);
    count({ a2: { pages: 2, held: 0, granted: 2 } });
    assert.equal(granted.at(-1)?.grant.over, true);
    assert.equal(granted.at(-1)?.grant.granted, 2);
  });

  it('repeats a lost grant when others wait for its tokens', () => {
    const { ask, count, round, take } = owner(1);
    ask('a2', { wanted: 1 });
    count();
    assert.deepEqual(take(), { a2: 1 });
    // The grant is lost, and a2 no longer needs it.
    ask('a3', { wanted: 1 });
    assert.deepEqual(take(), { a3: 0 });
    round();
    assert.equal(take().a2, 1);
    ask('a2', { wanted: 1, granted: 1, returned: 1 });
    ask('a3', { wanted: 1 });
    assert.deepEqual(take(), { a2: 1, a3: 1 });
  });

  it('counts pages of an earlier launch', () => {
    const { ask, count, take, granted } = owner(10);
    ask('a2', { wanted: 10 });
    count({ a2: { pages: 4 }, a3: { pages: 5 } });
    ask('a2', { wanted: 10, granted: 1 });
    assert.deepEqual(take(), { a2: 1 });
    count({ a2: { pages: 5, granted: 1 }, a3: { pages: 5 } });
    assert.equal(granted.at(-1)?.grant.over, true);
  });

  it('takes no count while no agent waits', () => {
    const { ask, count, round } = owner(100);
    assert.equal(round(), 0);
    ask('a2', { wanted: 5 });
    count();
    assert.equal(round(), 0);
    ask('a2', { wanted: 6, granted: 5 });
    assert.equal(round(), 0, 'tokens were left, and were granted');
  });

  it('takes no count before it has joined', () => {
    const { ask, round, state } = owner(100);
    state.joined = false;
    ask('a2', { wanted: 5 });
    assert.equal(round(), 0);
  });
});
