// The operator's orders as replicated state: copies merged in any order, grouping and number end
// the same, and what is known survives the process.
// The slower of these tests; the others are in `test/unit/core/protocol/orders.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { openInMemory } from '../../../../../agent/storage/file/database.ts';
import { DirectiveTable } from '../../../../../agent/storage/tables/directive-table.ts';
import { agent, orders } from '../directives-stage.ts';

describe('orders: merging', () => {
  it('orders: what a newer life reads is what the former knew', () => {
    fc.assert(
      fc.property(orders, (a) => {
        const store = new DirectiveTable(openInMemory());
        const former = agent('a1', store);
        former.merge(a, 0, 0);
        assert.equal(agent('a1', store).hash(), former.hash());
      }),
    );
  });
});
