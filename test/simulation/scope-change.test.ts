// A scope that the operator narrows or widens between two starts of a cluster, on real cores: what is
// queued is judged before each request, and what was skipped comes back.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crawling, endCodes } from './case-kit.ts';
import { IDS, NARROW, restart, skippedByScope } from './scope-change-stage.ts';

describe('a scope that changes', () => {
  it('scope: narrowed, nothing that it excludes is asked for, by whichever agent', () => {
    const c = crawling(IDS);
    restart(c, NARROW);
    const since = c.now;
    c.runToEnd();
    const asked = c.log.filter(({ start }) => start > since);
    assert.deepEqual(
      asked.filter(({ host, url }) => !NARROW.admits(host, { url: url as never })),
      [],
    );
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.ok(skippedByScope(c).length > 0);
  });
});
