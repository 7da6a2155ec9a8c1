// The slower of the tests in `test/unit/pairs/covering-array.test.ts`.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allowedPairs, coveringArray, isAllowed } from '../../../pairs/covering-array.ts';
import { excluded as excludedPairs, factors as suiteFactors } from '../../../pairs/factors.ts';
import { excluded, factors } from '../covering-array-stage.ts';

describe('covering array', () => {
  const tables = [
    { name: 'a small table', factors, excluded: [] },
    { name: 'a table with exclusions', factors, excluded },
    { name: 'the table of the suite', factors: suiteFactors, excluded: excludedPairs },
  ];
  for (const table of tables) {
    for (const seed of [1, 2, 3]) {
      test(`every allowed pair occurs: ${table.name}, seed ${seed}`, () => {
        const rows = coveringArray(seed, table.factors, table.excluded);
        const missing = allowedPairs(table.factors, table.excluded).filter(
          ([one, other]) =>
            !rows.some((row) => row[one.factor] === one.level && row[other.factor] === other.level),
        );
        assert.deepEqual(missing, []);
        assert.ok(rows.every((row) => isAllowed(row, table.excluded)));
        for (const row of rows) assert.deepEqual(Object.keys(row), Object.keys(table.factors));
      });
    }
  }
});
