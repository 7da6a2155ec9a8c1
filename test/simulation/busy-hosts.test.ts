// A server that has said that it has enough is left alone for that time, whoever owns its host by
// then, and however the host came to it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { busyFor, crawl, heirOf, toHost, told, WAIT_MS } from './busy-hosts-stage.ts';
import { SUSPECT_MS } from './cluster.ts';

describe('a busy host that named a wait', () => {
  it('is left alone for it though its owner dies, and its successor after it', () => {
    const c = crawl(busyFor(WAIT_MS));
    const { owner, saidAt } = told(c);
    c.kill(owner);
    c.run(3 * SUSPECT_MS);
    c.kill(heirOf(c));
    c.run(WAIT_MS - 4 * SUSPECT_MS);
    assert.deepEqual(toHost(c, saidAt), []);
    c.run(WAIT_MS);
    assert.ok(toHost(c, saidAt).length > 0, 'and then it is asked again');
    c.close();
  });
});
