import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { majorityBits } from '../../../../agent/parse/fingerprint/majority-bits.ts';

function countedOneByOne(numbers: Int32Array): number {
  let bits = 0;
  for (let bit = 0; bit < 32; bit++) {
    const count = numbers.reduce((sum, number) => sum + ((number >>> bit) & 1), 0);
    if (2 * count > numbers.length) bits |= 1 << bit;
  }
  return bits >>> 0;
}

test('majority bits: equal the result of counting bit by bit', () => {
  fc.assert(
    fc.property(fc.int32Array({ maxLength: 100 }), (numbers) => {
      assert.equal(majorityBits(numbers), countedOneByOne(numbers));
    }),
  );
});

test('majority bits: are correct for as many numbers as a page has words', () => {
  const numbers = Int32Array.from({ length: 50_001 }, (_, n) => Math.imul(n, 0x9e3779b1) | 3);
  assert.equal(majorityBits(numbers), countedOneByOne(numbers));
  assert.equal(majorityBits(new Int32Array(50_001).fill(-1)), 0xffffffff);
});

test('majority bits: exactly half is not a majority', () => {
  assert.equal(majorityBits(Int32Array.of(5, 1)), 1);
  assert.equal(majorityBits(new Int32Array(0)), 0);
});
