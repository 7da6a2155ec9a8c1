// The operator narrows or widens the scope between two starts of a cluster, on real cores. Queued
// URLs are checked before each request, and skipped URLs return when the scope admits them again.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crawling, endCodes } from './case-kit.ts';
import { IDS, NARROW, restart, skippedByScope } from './scope-change-stage.ts';

describe('a scope that changes', () => {
  it('scope: after the scope is narrowed, no agent requests a URL outside it', () => {
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
