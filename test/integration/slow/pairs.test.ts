// The first rows of the suite of pairs, which hold the most pairs: crawls by the real command of
// hosts that each behave oddly. run-pairs.ts plays all rows.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { coveringArray } from '../../pairs/covering-array.ts';
import { excluded, factors } from '../../pairs/factors.ts';
import { runPairCase } from '../../pairs/pair-case.ts';

/** First two bytes of the addresses: no other test's web has them. */
const addressNet = '127.57';
const seed = 1;
const cases = 3;

describe('pairs of features', { concurrency: 2 }, () => {
  for (const [number, row] of coveringArray(seed, factors, excluded).slice(0, cases).entries()) {
    const what = `${row.form}, ${row.connection} and ${row.load}`;
    test(`every page is there, at every delay: ${what} (case ${number})`, async () => {
      const faults = await runPairCase(row, `${addressNet}.${number + 1}`);
      const replay = `node test/pairs/run-pairs.ts --seed ${seed} --case ${number}`;
      assert.deepEqual(faults, [], replay);
    });
  }
});
