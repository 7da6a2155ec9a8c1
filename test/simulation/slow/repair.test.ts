// The slower tests of a restarted crawl in which agents wait for one another. The others are in
// `test/simulation/repair.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster } from '../case-kit.ts';
import { ids, others } from '../repair-stage.ts';

describe('repair', () => {
  it('agents that wait in vain end with 5, name the missing agent, and send no request', () => {
    const c = cluster(ids, { settings: others }, 20, 6);
    c.start('a1');
    c.start('a2');
    const [a1, a2] = ['a1', 'a2'].map((id) => c.agents.get(id)!);
    c.runUntil('both have ended', () => a1!.end !== null && a2!.end !== null, 70_000);
    assert.deepEqual([a1!.end?.code, a2!.end?.code], [5, 5]);
    assert.match(a1!.end!.reason, /^a3 did not join within 60 s/);
    assert.equal(c.log.length, 0);
  });

  it('an agent does not wait again for a configured agent that it has met once', () => {
    const c = cluster(ids, { settings: others }, 20, 6);
    c.startAll();
    c.runUntil('all have joined', () => ids.every((id) => c.snapshot(id).joined));
    c.kill('a3');
    c.runUntil('a1 removes a3', () => c.snapshot('a1').members.length === 1);
    c.stall('a1', 5000);
    c.runToEnd();
    assert.equal(c.fetched().size, 120);
  });
});
