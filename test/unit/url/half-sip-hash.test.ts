// Tests that the hash of short texts equals the published HalfSipHash in both lengths.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HalfSipHash } from '../../../agent/url/half-sip-hash.ts';

/** HalfSipHash over bytes as its authors describe it, with any number of rounds. */
function halfSipHash(
  rounds: [number, number],
  key: Buffer,
  bytes: Buffer,
  isLong = false,
): number[] {
  const v = new Uint32Array([key.readUInt32LE(0), key.readUInt32LE(4), 0, 0]);
  v[2] = 0x6c796765 ^ v[0]!;
  v[3] = 0x74656462 ^ v[1]!;
  if (isLong) v[1]! ^= 0xee;
  const add = (a: number, b: number) => {
    v[a] = v[a]! + v[b]!;
  };
  const mix = (a: number, b: number, by: number) => {
    v[a] = ((v[a]! << by) | (v[a]! >>> (32 - by))) ^ v[b]!;
  };
  const turnRound = () => {
    add(0, 1);
    mix(1, 0, 5);
    v[0] = (v[0]! << 16) | (v[0]! >>> 16);
    add(2, 3);
    mix(3, 2, 8);
    add(0, 3);
    mix(3, 0, 7);
    add(2, 1);
    mix(1, 2, 13);
    v[2] = (v[2]! << 16) | (v[2]! >>> 16);
  };
  const padded = Buffer.alloc((bytes.length & ~3) + 4);
  bytes.copy(padded);
  padded[padded.length - 1] = bytes.length;
  for (let at = 0; at < padded.length; at += 4) {
    v[3]! ^= padded.readUInt32LE(at);
    for (let round = 0; round < rounds[0]; round++) turnRound();
    v[0]! ^= padded.readUInt32LE(at);
  }
  v[2]! ^= isLong ? 0xee : 0xff;
  for (let round = 0; round < rounds[1]; round++) turnRound();
  const low = (v[1]! ^ v[3]!) >>> 0;
  if (!isLong) return [low];
  v[1]! ^= 0xdd;
  for (let round = 0; round < rounds[1]; round++) turnRound();
  return [low, (v[1]! ^ v[3]!) >>> 0];
}

/** The first of the authors' vectors verifies the implementation above. */
test('half-sip-hash: the reference implementation of this test gives the hashes of the authors', () => {
  const key = Buffer.from([0, 1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(halfSipHash([2, 4], key, Buffer.alloc(0)), [0x5b9f35a9]);
  const bytes = Buffer.alloc(8);
  for (const [at, word] of halfSipHash([2, 4], key, Buffer.alloc(0), true).entries()) {
    bytes.writeUInt32LE(word, at * 4);
  }
  assert.equal(bytes.toString('hex'), '218d1f59b9b83cc8');
});

test('half-sip-hash: hashes UTF-16 units with 1 and 3 rounds', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.maxSafeNat(), (text, number) => {
      const key = Buffer.alloc(8);
      key.writeBigUInt64LE(BigInt(number));
      const bytes = Buffer.from(text, 'utf16le');
      const hash = new HalfSipHash(number);
      assert.deepEqual([hash.of(text)], halfSipHash([1, 3], key, bytes));
      hash.long(text);
      assert.deepEqual([hash.low, hash.high], halfSipHash([1, 3], key, bytes, true));
    }),
  );
});
