// A complete crawl loses a disk and is started again. The agents wait for one another, and the
// agent without a state receives it from the copies before it may crawl.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster } from './case-kit.ts';
import { ids, others } from './repair-stage.ts';

describe('repair', () => {
  it('an agent with an empty disk gets its hosts from the copies without another request', () => {
    const c = cluster(ids, { settings: others }, 20, 6);
    c.startAll();
    c.runToEnd();
    const asked = c.log.length;
    const held = c.agents.get('a2')!.store.owned().pages;
    assert.ok(held > 0);
    c.wipe('a2');
    // The agent is alone for longer than agents usually wait for others, and it has the seeds.
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
