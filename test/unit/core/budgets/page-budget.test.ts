// The requesting side of the page limit by itself: a token for each page, what happens to unused
// tokens, and which grants are accepted. page-budget-limit.test.ts tests it with the owner.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  PageBudget,
  type PagesAsk,
  type PagesGrant,
} from '../../../../agent/core/budgets/page-budget.ts';
import type { View } from '../../../../agent/core/membership/view.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';

const at = (mono: number) => ({ mono, wall: mono });
const HEARTBEAT_MS = 100;

function asker() {
  const state = { owner: 'a2', inc: 1, reached: false };
  const asks: (PagesAsk & { to: string })[] = [];
  const woken: string[] = [];
  const view = {
    owner: () => state.owner,
    get: (id: string) => ({ card: { id, inc: state.inc } }),
  };
  const budget = new PageBudget({
    settings: {
      id: 'a1',
      heartbeatMs: HEARTBEAT_MS,
      pagesMax: 100,
      bounds: { ...BOUNDS, unreplicated: 8 },
    },
    view: view as unknown as View,
    inc: () => 1,
    tell: (to, ask) => asks.push({ ...ask, to }),
    recheck: (host) => woken.push(host),
    reached: () => {
      state.reached = true;
    },
  });
  const grant = (more: Partial<PagesGrant>, from = 'a2', nowMs = 0) => {
    const { session } = budget.account();
    const none = { session, granted: 0, returned: 0, over: false, restart: false };
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
      ...{ type: 'PAGES_ASK', to: 'a2', session: 1, granted: 0, returned: 0, wanted: 1 },
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

  it('a repeated or late grant adds no tokens', () => {
    const { budget, grant } = asker();
    grant({ granted: 3 });
    grant({ granted: 3 });
    grant({ granted: 1 });
    assert.equal(budget.held, 3);
  });

  it('accepts grants of the current owner and session only', () => {
    const { budget, state, grant } = asker();
    grant({ granted: 3 }, 'a3');
    grant({ granted: 3, over: true }, 'a3');
    grant({ granted: 3, session: 0 });
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

  it('a new owner or incarnation starts a new session, but open requests continue', () => {
    for (const change of [{ owner: 'a3' }, { inc: 2 }]) {
      const { budget, asks, state, grant } = asker();
      grant({ granted: 3 });
      budget.take(1, at(0));
      Object.assign(state, change);
      budget.has('h.test');
      budget.leave('h.test');
      budget.pump(at(10));
      assert.equal(budget.held, 1, 'the stock is void, the open request counts');
      assert.deepEqual(budget.account(), { session: 2, granted: 0, returned: 0 });
      assert.equal(asks.at(-1)?.to, state.owner);
      grant({ granted: 3, session: 1 }, state.owner);
      assert.equal(budget.held, 1);
    }
  });

  it('starts a new session if the owner demands it', () => {
    const { budget, grant } = asker();
    grant({ granted: 3 });
    grant({ restart: true });
    assert.equal(budget.held, 0);
    assert.equal(budget.account().session, 2);
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
