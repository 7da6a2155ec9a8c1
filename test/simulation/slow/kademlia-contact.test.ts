// Many agents join at the same time through one contact.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cluster, endCodes } from '../case-kit.ts';

test('kademlia: 32 agents that know one contact join, and fetch every page once', () => {
  const ids = Array.from({ length: 32 }, (_, n) => `a${n}`);
  const kademlia = { contacts: ['a0'], ids: 4, neighbourhood: 5, bucketSize: 20 };
  const c = cluster(ids, { kademlia, backups: 1 }, 24, 6);
  c.startAll();
  c.runUntil('all have joined', () => ids.every((id) => c.snapshot(id).joined), 10_000);
  c.runToEnd();
  assert.deepEqual(new Set(endCodes(c)), new Set([0]));
  assert.equal(c.fetched().size, 24 * 6);
  assert.deepEqual(new Set(c.fetched().values()), new Set([1]));
});
