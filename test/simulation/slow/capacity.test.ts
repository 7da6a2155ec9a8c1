// Agents that are drained in partial views.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { twice } from '../../checkers/coverage.ts';
import { drain, kademlia, NINE, ownedBy, untilSettled } from '../capacity-stage.ts';
import { crawling, endCodes } from '../case-kit.ts';
import { SUSPECT_MS } from '../cluster.ts';
import { give } from '../orders-stage.ts';

describe('a drained agent in a partial view', () => {
  it('drain: in partial views hosts move away, also from several agents at once, and back', () => {
    const c = crawling(NINE, { kademlia, delayMs: 300 });
    c.runUntil('all have joined', () => NINE.every((id) => c.snapshot(id).joined));
    // The agent that is asked does not know all others.
    const drained = ['a1', 'a3', 'a4', 'a7'];
    const [first, ...others] = drained as [string, ...string[]];
    for (const id of drained) assert.equal(give(c, 'a9', drain(id))[0]?.ok, true);
    untilSettled(c, (id) => !drained.includes(id) || c.snapshot(id).capacity === 0);
    for (const id of drained) assert.equal(ownedBy(c, id), 0);
    const since = c.now;
    c.kill(first);
    c.run(3 * SUSPECT_MS);
    give(c, 'a9', drain(first, null));
    c.start(first);
    untilSettled(c, (id) => c.snapshot(id).capacity === (others.includes(id) ? 0 : 1));
    assert.ok(ownedBy(c, first) > 0);
    assert.ok(c.log.every(({ by, start }) => start <= since || !others.includes(by)));
    c.runToEnd(200_000);
    assert.deepEqual(new Set(endCodes(c)), new Set([0]));
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(twice(c.log), []);
    assert.deepEqual(c.impolite(), []);
  });

  it('drain: of the last agent that takes hosts is refused in a partial view, too', () => {
    const c = crawling(NINE, { kademlia, delayMs: 300 });
    c.runUntil('all have joined', () => NINE.every((id) => c.snapshot(id).joined));
    const [last, ...others] = NINE as [string, ...string[]];
    for (const id of others) {
      assert.equal(give(c, 'a9', drain(id))[0]?.ok, true);
      untilSettled(c, (one) => one !== id || c.snapshot(id).capacity === 0);
    }
    for (const by of NINE) {
      const [told] = give(c, by, drain(last));
      assert.ok(told && !told.ok && /a1 is the last agent that takes hosts/.test(told.why), by);
    }
    c.runToEnd(200_000);
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(twice(c.log), []);
  });
});
