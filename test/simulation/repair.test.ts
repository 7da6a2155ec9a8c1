// A complete crawl in which a disk is lost, started again: the agents wait for one another, and the
// one without a state gets it from the copies before it may crawl.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster } from './case-kit.ts';

const ids = ['a1', 'a2', 'a3'] as const;
const others = (id: string) => ({ awaits: ids.filter((one) => one !== id) });

describe('repair', () => {
  it('an agent with an empty disk has its hosts again, and no page is asked for', () => {
    const c = cluster(ids, { settings: others }, 20, 6);
    c.startAll();
    c.runToEnd();
    const asked = c.log.length;
    const held = c.agents.get('a2')!.store.owned().pages;
    assert.ok(held > 0);
    c.wipe('a2');
    // Alone for longer than agents are usually waited for, and with the seeds at hand.
    c.start('a2');
    c.run(20_000);
    assert.equal(c.snapshot('a2').joined, false);
    c.start('a1');
    c.start('a3');
    c.runToEnd();
    assert.equal(c.log.length, asked);
    assert.equal(c.agents.get('a2')!.store.owned().pages, held);
  });

  it('an agent that waits in vain ends with 5, names who is missing, and has asked for nothing', () => {
    const c = cluster(ids, { settings: others }, 20, 6);
    c.start('a1');
    c.start('a2');
    const [a1, a2] = ['a1', 'a2'].map((id) => c.agents.get(id)!);
    c.runUntil('both have ended', () => a1!.end !== null && a2!.end !== null, 70_000);
    assert.deepEqual([a1!.end?.code, a2!.end?.code], [5, 5]);
    assert.match(a1!.end!.reason, /^a3 did not join within 60 s/);
    assert.equal(c.log.length, 0);
  });

  it('whoever was met once is not waited for again', () => {
    const c = cluster(ids, { settings: others }, 20, 6);
    c.startAll();
    c.runUntil('all have joined', () => ids.every((id) => c.snapshot(id).joined));
    c.kill('a3');
    c.runUntil('a3 is given up', () => c.snapshot('a1').members.length === 1);
    c.stall('a1', 5000);
    c.runToEnd();
    assert.equal(c.fetched().size, 120);
  });
});
