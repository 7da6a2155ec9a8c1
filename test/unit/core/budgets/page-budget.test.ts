// The requesting side of the page limit by itself: a token for each page, what happens to unused
// tokens, and which grants are accepted. page-budget-limit.test.ts tests it with the owner.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  PageBudget,
  type PagesAsk,
  type PagesGrant,
} from '../../../../agent/core/budgets/page-budget.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';

const at = (mono: number) => ({ mono, wall: mono });
const HEARTBEAT_MS = 100;
const suspectAfterMs = 100_000;
const epoch = (n: number, owner = 'a2') => `${n}@${owner}.1`;

function asker() {
  const state = { owner: 'a2', inc: 1, reached: false, lost: 0 };
  const asks: (PagesAsk & { to: string })[] = [];
  const woken: string[] = [];
  const budget = new PageBudget({
    settings: { heartbeatMs: HEARTBEAT_MS, suspectAfterMs, bounds: { ...BOUNDS, unreplicated: 8 } },
    owner: () => ({ id: state.owner, inc: state.inc }),
    notOwner: () => {
      state.lost++;
    },
    tell: (to, ask) => asks.push({ ...ask, to }),
    recheck: (host) => woken.push(host),
    reached: () => {
      state.reached = true;
    },
  });
  budget.begin(epoch(1));
  const grant = (more: Partial<PagesGrant>, from = 'a2', nowMs = 0) => {
    const none = { epoch: budget.epoch, granted: 0, returned: 0, over: false };
    budget.onGrant(from, { ...none, ...more }, at(nowMs));
  };
  budget.pump(at(0));
  return { state, budget, asks, woken, grant };
}

describe('page budget', () => {
  it('a host waits for a token, is woken by the grant, and spends it on one page', () => {
    const { budget, asks, woken, grant } = asker();
    assert.equal(budget.has('h.test'), false);
    budget.pump(at(10));
    assert.deepEqual(asks.at(-1), {
      ...{ type: 'PAGES_ASK', to: 'a2', epoch: epoch(1), granted: 0, returned: 0, wanted: 1 },
    });
    grant({ granted: 1 });
    assert.deepEqual(woken, ['h.test']);
    assert.equal(budget.has('h.test'), true);
    assert.equal(budget.take(1, at(20)), true);
    assert.equal(budget.take(2, at(20)), false);
    budget.ended(1, true);
    assert.equal(budget.held, 0);
  });

  it('the token of a request without a page is reused once', () => {
    const { budget, grant } = asker();
    grant({ granted: 1 });
    budget.take(1, at(0));
    assert.equal(budget.held, 1, 'the request may become a page');
    budget.ended(1, false);
    budget.ended(1, false);
    assert.equal(budget.held, 1);
    assert.equal(budget.take(2, at(0)), true);
    assert.equal(budget.take(3, at(0)), false);
  });

  it('asks for as many tokens ahead as it used in a heartbeat interval, but for few', () => {
    const { budget, asks, grant } = asker();
    budget.has('h.test');
    budget.pump(at(10));
    grant({ granted: 8 });
    for (let request = 1; request <= 7; request++) budget.take(request, at(20));
    for (let request = 1; request <= 6; request++) budget.ended(request, true);
    budget.pump(at(30));
    assert.equal(asks.at(-1)?.wanted, 11, 'half of 8 threads, and one token is left');
    budget.pump(at(20 + HEARTBEAT_MS));
    grant({ granted: 11 }, 'a2', 20 + HEARTBEAT_MS);
    budget.pump(at(30 + 2 * HEARTBEAT_MS));
    budget.pump(at(40 + 3 * HEARTBEAT_MS));
    assert.equal(asks.at(-1)?.returned, 4, 'nothing is used any more');
    assert.equal(budget.take(9, at(50 + 3 * HEARTBEAT_MS)), false);
    budget.has('h.test');
    budget.pump(at(60 + 3 * HEARTBEAT_MS));
    assert.equal(asks.at(-1)?.wanted, 12, 'one for the host that waits, none ahead');
  });

  it('a repeated or late grant adds no tokens', () => {
    const { budget, grant } = asker();
    grant({ granted: 3 });
    grant({ granted: 3 });
    grant({ granted: 1 });
    assert.equal(budget.held, 3);
  });

  it('accepts grants of the current owner and epoch only', () => {
    const { budget, state, grant } = asker();
    grant({ granted: 3 }, 'a3');
    grant({ granted: 3, over: true }, 'a3');
    grant({ granted: 3, epoch: epoch(1, 'a1') });
    assert.equal(budget.held, 0);
    assert.equal(budget.over || state.reached, false);
  });

  it('returns tokens after two heartbeats without use, and no sooner', () => {
    const { budget, asks, grant } = asker();
    grant({ granted: 3 });
    budget.take(1, at(50));
    budget.pump(at(50 + 2 * HEARTBEAT_MS - 1));
    assert.equal(budget.held, 3);
    budget.ended(1, true);
    budget.pump(at(50 + 2 * HEARTBEAT_MS));
    assert.equal(budget.held, 0);
    budget.pump(at(1000));
    assert.equal(asks.at(-1)?.returned, 2);
    const told = asks.length;
    budget.pump(at(10_000));
    assert.equal(asks.length, told + 1, 'repeated until the owner confirms it');
    grant({ granted: 3, returned: 2 });
    budget.pump(at(20_000));
    assert.equal(asks.length, told + 1);
  });

  it('asks a new owner or incarnation at once', () => {
    for (const change of [{ owner: 'a3' }, { inc: 2 }]) {
      const { budget, asks, state } = asker();
      budget.has('h.test');
      budget.pump(at(10));
      const told = asks.length;
      Object.assign(state, change);
      budget.pump(at(11));
      assert.equal(asks.length, told + 1);
      assert.equal(asks.at(-1)?.to, state.owner);
    }
  });

  it('keeps its tokens in a new epoch, and tells how many it had', () => {
    const { budget, asks, grant } = asker();
    grant({ granted: 3 });
    budget.take(1, at(0));
    budget.take(2, at(0));
    budget.ended(1, true);
    assert.equal(budget.baseOf(1), 0, 'all were granted in the epoch');
    budget.begin(epoch(2));
    assert.equal(budget.held, 2);
    assert.equal(budget.baseOf(1), 3);
    grant({ granted: 1 });
    budget.ended(2, true);
    assert.equal(budget.baseOf(2), 3, 'a page that spends a token changes nothing');
    budget.pump(at(1000));
    assert.equal(asks.at(-1)?.returned, 2);
    assert.equal(budget.baseOf(2), 3, 'a returned token changes nothing');
  });

  it('a grant begins an epoch only if the agent has no tokens that a census has missed', () => {
    const { budget, grant } = asker();
    grant({ granted: 1 });
    grant({ epoch: epoch(2), granted: 5 });
    assert.deepEqual([budget.epoch, budget.held], [epoch(1), 1]);
    budget.take(1, at(0));
    budget.ended(1, true);
    grant({ epoch: epoch(2), granted: 5 });
    assert.deepEqual([budget.epoch, budget.held], [epoch(2), 5]);
    budget.begin(epoch(1));
    assert.equal(budget.epoch, epoch(2), 'an earlier epoch has ended');
  });

  it('the tokens of an incarnation end with it', () => {
    const { budget, grant } = asker();
    grant({ granted: 3 });
    budget.take(1, at(0));
    budget.reset();
    assert.equal(budget.held, 0);
    budget.ended(1, false);
    assert.equal(budget.held, 0);
  });

  it('looks for another owner if the agent says that it is not the owner, or is silent', () => {
    const { budget, asks, state, grant } = asker();
    budget.has('h.test');
    budget.pump(at(10));
    grant({ epoch: '' });
    assert.equal(state.lost, 1);
    budget.pump(at(20));
    assert.equal(asks.length, 2, 'the next owner is asked at once');
    for (let ms = 20; ms < 20 + suspectAfterMs; ms += 1000) budget.pump(at(ms));
    assert.equal(state.lost, 1);
    budget.pump(at(20 + suspectAfterMs));
    assert.equal(state.lost, 2);
  });

  it('pages that end without requests take the available tokens, and can return them', () => {
    const { budget, grant } = asker();
    grant({ granted: 3 });
    assert.equal(budget.takeSome('h.test', 10, at(0)), 3);
    assert.equal(budget.takeSome('h.test', 10, at(0)), 0);
    budget.giveBack(2);
    assert.equal(budget.held, 2);
  });

  it('returns a token that arrives for a host that no longer waits', () => {
    const { budget, asks, grant } = asker();
    budget.has('h.test');
    budget.pump(at(10));
    budget.leave('h.test');
    grant({ granted: 1 }, 'a2', 20);
    budget.pump(at(20 + 2 * HEARTBEAT_MS));
    assert.equal(budget.held, 0);
    assert.equal(asks.at(-1)?.returned, 1);
  });

  it('reports the limit as reached when the owner does, and requests nothing more', () => {
    const { budget, asks, state, grant } = asker();
    budget.has('h.test');
    budget.pump(at(10));
    grant({ over: true });
    assert.equal(budget.over, true);
    assert.equal(state.reached, true);
    const told = asks.length;
    budget.pump(at(10_000));
    assert.equal(asks.length, told);
  });
});
