// Plays the first rows of the pairs suite, which cover the most pairs: the real command crawls
// hosts with unusual behaviour. run-pairs.ts plays all rows.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { coveringArray } from '../../pairs/covering-array.ts';
import { excluded, factors } from '../../pairs/factors.ts';
import { runPairCase } from '../../pairs/pair-case.ts';

/** First two bytes of the addresses; the web of no other test uses them. */
const addressNet = '127.57';
const seed = 1;
const cases = 3;

describe('pairs of features', { concurrency: 2 }, () => {
  for (const [number, row] of coveringArray(seed, factors, excluded).slice(0, cases).entries()) {
    const what = `${row.form}, ${row.connection} and ${row.load}`;
    test(`a crawl fetches every page and keeps every delay: ${what} (case ${number})`, async () => {
      const faults = await runPairCase(row, `${addressNet}.${number + 1}`);
      const replay = `node test/pairs/run-pairs.ts --seed ${seed} --case ${number}`;
      assert.deepEqual(faults, [], replay);
    });
  }
});
