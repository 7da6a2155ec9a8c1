import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allowedPairs, coveringArray, isAllowed } from '../../pairs/covering-array.ts';
import { excluded as excludedPairs, factors as suiteFactors } from '../../pairs/factors.ts';

const factors = { a: ['1', '2', '3'], b: ['x', 'y'], c: ['on', 'off'], d: ['p', 'q', 'r', 's'] };
const excluded = [
  { a: '1', b: 'x' },
  { c: 'off', d: 's' },
];

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

  test('the allowed pairs are all but the excluded ones', () => {
    // 3*2 + 3*2 + 3*4 + 2*2 + 2*4 + 2*4
    assert.equal(allowedPairs(factors, []).length, 44);
    assert.equal(allowedPairs(factors, excluded).length, 42);
  });

  test('the same seed gives the same rows, another seed others', () => {
    const rows = coveringArray(7, factors, excluded);
    assert.deepEqual(coveringArray(7, factors, excluded), rows);
    assert.notDeepEqual(coveringArray(8, factors, excluded), rows);
  });

  test('a level that every level of another factor excludes is an error', () => {
    const none = [
      { a: '1', b: 'x' },
      { a: '1', b: 'y' },
    ];
    assert.throws(() => coveringArray(1, factors, none), /no row can hold/);
  });
});
