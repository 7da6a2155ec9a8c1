// The slower of the tests in `test/unit/core/protocol/directives.test.ts`: directives survive the
// process.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { openInMemory } from '../../../../../agent/storage/file/database.ts';
import { DirectiveTable } from '../../../../../agent/storage/tables/directive-table.ts';
import { agent, orders } from '../directives-stage.ts';

describe('directives: merging', () => {
  it('directives: a new run reads the directives that the previous run knew', () => {
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
