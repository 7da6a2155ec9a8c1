import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MersenneTwister64 } from '../../../assignment/mersenne-twister.ts';
import { readCases } from './cases.ts';

/** The first `count` outputs. */
function outputs(key: readonly bigint[], count: number): bigint[] {
  const twister = new MersenneTwister64(key);
  return Array.from({ length: count }, () => twister.next());
}

const authorsKey = [0x12345n, 0x23456n, 0x34567n, 0x45678n];

test('MT19937-64: gives the first outputs that its authors published for their key', () => {
  assert.deepEqual(outputs(authorsKey, 5), [
    7266447313870364031n,
    4946485549665804864n,
    16945909448695747420n,
    16394063075524226720n,
    4873882236456199058n,
  ]);
});

test('MT19937-64: continues correctly after the first block of state', () => {
  const all = outputs(authorsKey, 1000);
  assert.equal(all[311], 15531278677382192198n);
  assert.equal(all[312], 3874303698666230242n);
  assert.equal(all[999], 994412663058993407n);
});

test('MT19937-64: keys that differ above 2^53 give different sequences', () => {
  assert.notDeepEqual(outputs([2n ** 53n], 3), outputs([2n ** 53n + 1n], 3));
});

test('MT19937-64: refuses an empty key and a word outside of 64 bits', () => {
  assert.throws(() => new MersenneTwister64([]), RangeError);
  assert.throws(() => new MersenneTwister64([2n ** 64n]), RangeError);
  assert.throws(() => new MersenneTwister64([-1n]), RangeError);
});

interface ReferenceCases {
  initByArray: { key: string[]; int64_first1000: string[] };
  arrayRows: {
    key: string[] | { range: [number, number] };
    first5: string[];
    at: Record<string, string>;
  }[];
}

test('MT19937-64: gives all reference outputs of the independent cases', (t) => {
  const cases = readCases<ReferenceCases>('mt19937_64.json', t);
  if (cases === undefined) return;
  const { key, int64_first1000: first1000 } = cases.initByArray;
  assert.deepEqual(outputs(key.map(BigInt), 1000), first1000.map(BigInt));
  for (const row of cases.arrayRows) {
    const [low, high] = Array.isArray(row.key) ? [0, -1] : row.key.range;
    const words = Array.isArray(row.key)
      ? row.key.map(BigInt)
      : Array.from({ length: high - low + 1 }, (_, i) => BigInt(low + i));
    const all = outputs(words, 1000);
    assert.deepEqual(all.slice(0, 5), row.first5.map(BigInt), `key ${row.key}`);
    for (const [nth, value] of Object.entries(row.at)) {
      assert.equal(all[Number(nth) - 1], BigInt(value));
    }
  }
});
