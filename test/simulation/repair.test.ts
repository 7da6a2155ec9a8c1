// A complete crawl in which a disk is lost, started again: the agents wait for one another, and the
// one without a state gets it from the copies before it may crawl.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster } from './case-kit.ts';
import { ids, others } from './repair-stage.ts';

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
});
