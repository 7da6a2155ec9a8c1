// After a server answered that it is busy, no agent sends it requests for that time, even if its
// host moves to another owner.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { busyFor, crawl, heirOf, toHost, told, WAIT_MS } from './busy-hosts-stage.ts';
import { SUSPECT_MS } from './cluster.ts';

describe('a busy host that named a wait', () => {
  it('gets no requests during the wait, even if its owner dies and then the successor dies', () => {
    const c = crawl(busyFor(WAIT_MS));
    const { owner, saidAt } = told(c);
    c.kill(owner);
    c.run(3 * SUSPECT_MS);
    c.kill(heirOf(c));
    c.run(WAIT_MS - 4 * SUSPECT_MS);
    assert.deepEqual(toHost(c, saidAt), []);
    c.run(WAIT_MS);
    assert.ok(toHost(c, saidAt).length > 0, 'it gets requests again after the wait');
    c.close();
  });
});
