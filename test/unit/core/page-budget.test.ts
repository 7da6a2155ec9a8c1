// The asking side of the page limit by itself, against an owner that the test plays.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOUNDS } from '../../../agent/core/bounds.ts';
import { PageBudget, type PagesAsk } from '../../../agent/core/page-budget.ts';
import type { CoreSettings } from '../../../agent/core/settings.ts';
import { View } from '../../../agent/core/view.ts';

const heartbeatMs = 100;
/** What is said is repeated after half a heartbeat. */
const stepMs = 60;

/** An agent that owns the limit itself; `asks` has what it says to the granting side. */
function alone() {
  const asks: PagesAsk[] = [];
  const settings = { id: 'a1', heartbeatMs, pagesMax: 100, bounds: BOUNDS };
  const build: CoreSettings['build'] = () => ({ owner: () => 'a1', order: () => ['a1'] });
  const budget = new PageBudget({
    settings,
    view: new View({ id: 'a1', capacity: 1, build, digest: (text) => text }),
    inc: () => 1,
    tell: (_, ask) => void asks.push(ask),
    reconsider: () => {},
    reached: () => {},
  });
  let mono = 0;
  const now = () => ({ mono, wall: mono });
  const pump = () => {
    mono += stepMs;
    budget.pump(now());
  };
  const grant = (granted: number, more: { over?: boolean; returned?: number } = {}) => {
    const { session } = asks.at(-1)!;
    const words = { over: false, returned: 0, restart: false, ...more };
    budget.onGrant('a1', { session, granted, ...words }, now());
  };
  return { budget, asks, pump, grant, now };
}

describe('page budget', () => {
  it('gives back what it was granted and has no use for', () => {
    const { budget, asks, pump, grant } = alone();
    budget.has('h1.test');
    pump();
    budget.leave('h1.test');
    grant(asks.at(-1)!.wanted);
    const { held } = budget;
    assert.ok(held > 0);
    for (let i = 0; i < 5; i++) pump();
    assert.equal(budget.held, 0);
    assert.equal(asks.at(-1)!.returned, held);
    grant(held, { returned: held });
    const before = asks.length;
    for (let i = 0; i < 5; i++) pump();
    assert.equal(asks.length, before, 'then it is quiet');
  });

  it('asks no more once the limit is reached', () => {
    const { budget, asks, pump, grant } = alone();
    budget.has('h1.test');
    pump();
    grant(0, { over: true });
    assert.ok(budget.over);
    const before = asks.length;
    for (let i = 0; i < 5; i++) pump();
    assert.equal(asks.length, before);
  });
});
