// Counts the rows that an owner reads for a host of very many URLs whose copy begins late. These
// are the slow tests; the others are in `test/unit/storage/rows/event-tails-late-copy.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Copy, follow, HOST, Owner, TAILS, URLS } from '../event-tails-late-copy-stage.ts';

test('late copy: events that no copy requests do not stay in memory', () => {
  const owner = new Owner(URLS);
  const copy = new Copy(owner);
  for (let i = 0; i < 60; i++) copy.step();
  for (let i = 0; i <= TAILS.atHand; i++) owner.find(HOST, `/unasked/${i}`);
  assert.ok(owner.rowsOf(() => copy.step()) >= TAILS.rowsPerTurn, 'the backlog was dropped');
  follow(owner, copy, { count: 0 });
  for (let i = 0; i <= TAILS.atHand; i++) owner.find(HOST, `/unsent/${i}`);
  assert.ok(owner.rowsOf(() => copy.step()) >= TAILS.rowsPerTurn, 'the tail was dropped');
});
