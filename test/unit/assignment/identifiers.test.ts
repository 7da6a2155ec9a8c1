import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bitAt,
  commonPrefix,
  identifiersOf,
  KEY_BITS,
  type Key,
  keyOf,
} from '../../../assignment/identifiers.ts';
import { readCases } from './cases.ts';
import { givenSha1, sha1 } from './sha1.ts';

const largest = 2n ** 160n - 1n;

test('identifiers: the key of a host is the SHA-1 of its UTF-8 bytes, big-endian', () => {
  // The first value is from FIPS 180.
  assert.equal(keyOf('abc', sha1), 0xa9993e364706816aba3e25717850c26c9cd0d89dn);
  assert.equal(keyOf('节点8', sha1), 0xd6fa3549fc8aa73fcfb99767dee2e4567749d660n);
});

test('identifiers: a key is read correctly from the middle of a larger buffer', () => {
  const buffer = new Uint8Array(64).fill(0xff);
  buffer.set(sha1('abc'), 7);
  const key = keyOf('abc', () => buffer.subarray(7, 27));
  assert.equal(key, 0xa9993e364706816aba3e25717850c26c9cd0d89dn);
});

test('identifiers: keys may begin with zeros, and may have all bits set', () => {
  const given = givenSha1({ zero: 0n, one: 1n, largest });
  assert.equal(keyOf('zero', given), 0n);
  assert.equal(keyOf('one', given), 1n);
  assert.equal(keyOf('largest', given), largest);
});

test('identifiers: those of an agent are the keys of its name, a slash and a number', () => {
  const found = identifiersOf({ id: 'a1', capacity: 1.5 }, { sha1, ids: 2 });
  const expected = [
    0x6a41398595414e9a0fd046635a9e9dac74d5c5f8n,
    0x2f1b4c0dc33daaa61298da7e9a90d7cc6a0a976an,
    0x38fff8f45e82465f6f76af857b1958fdca9a3fbn,
  ];
  assert.deepEqual(found, expected);
});

test('identifiers: an agent has max(1, round(capacity x ids)) of them, up to a maximum', () => {
  const count = (capacity: number, ids: number): number =>
    identifiersOf({ id: 'a', capacity }, { sha1, ids }).length;
  assert.equal(count(1, 8), 8);
  assert.equal(count(0.5, 8), 4);
  assert.equal(count(2.5, 1), 3);
  assert.equal(count(0.3, 8), 2);
  assert.equal(count(0.01, 8), 1);
  assert.equal(count(1000, 8), 8000);
  assert.equal(count(1e300, 8), 16_000);
  assert.throws(() => count(Number.NaN, 8), RangeError);
});

test('identifiers: a higher capacity only adds identifiers', () => {
  const small = identifiersOf({ id: 'a', capacity: 1 }, { sha1, ids: 8 });
  const large = identifiersOf({ id: 'a', capacity: 3 }, { sha1, ids: 8 });
  assert.equal(new Set(large).size, 24);
  assert.deepEqual(large.slice(0, 8), small);
});

test('identifiers: keys that first differ at a depth have that many bits in common', () => {
  for (const key of [0n, largest, keyOf('a', sha1)]) {
    assert.equal(commonPrefix(key, key), KEY_BITS);
    for (let depth = 0; depth < KEY_BITS; depth++) {
      const bit = 1n << BigInt(159 - depth);
      assert.equal(commonPrefix(key, key ^ bit), depth);
      assert.equal(commonPrefix(key ^ (2n * bit - 1n), key), depth);
    }
  }
});

test('identifiers: the bit at depth 0 is the most significant one', () => {
  const digits = keyOf('a', sha1).toString(2).padStart(160, '0');
  const bits = Array.from(digits, (_, depth) => bitAt(keyOf('a', sha1), depth));
  assert.equal(bits.join(''), digits);
  assert.equal(bitAt(1n << 159n, 0), 1);
  assert.equal(bitAt(1n << 159n, 159), 0);
});

interface Sample {
  bits: number;
  x: string;
  y: string;
  z: string;
  dxy: string;
  bucket: number;
  commonPrefixLen: number;
}

interface DistanceCases {
  kademlia: {
    zeroPrefixLen: { hex: string; len: number }[];
    samples: Sample[];
  };
}

/** Places a number of `bits` bits at the beginning of the key space. Longer ones lose their end. */
function widened(hex: string, bits: number): Key {
  const number = BigInt(`0x${hex}`);
  return bits > KEY_BITS ? number >> BigInt(bits - KEY_BITS) : number << BigInt(KEY_BITS - bits);
}

test('identifiers: agree with the independent facts about the XOR distance', (t) => {
  const cases = readCases<DistanceCases>('ring_kademlia.json', t);
  if (cases === undefined) return;
  for (const { hex, len } of cases.kademlia.zeroPrefixLen) {
    const bits = hex.length * 4;
    assert.equal(Math.min(bits, commonPrefix(widened(hex, bits), 0n)), len, hex);
  }
  for (const { bits, x, y, z, dxy, bucket, commonPrefixLen } of cases.kademlia.samples) {
    const [a, b, c] = [widened(x, bits), widened(y, bits), widened(z, bits)];
    assert.equal(commonPrefix(a, b), commonPrefixLen);
    assert.equal(commonPrefix(b, a), commonPrefixLen);
    assert.equal(bits - 1 - bucket, commonPrefixLen);
    const distance = widened(dxy, bits);
    const leading = Array.from({ length: commonPrefixLen + 1 }, (_, at) => bitAt(distance, at));
    assert.deepEqual(leading, [...Array(commonPrefixLen).fill(0), 1]);
    assert.ok(commonPrefix(a, c) >= Math.min(commonPrefix(a, b), commonPrefix(b, c)));
  }
});
