import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  distanceTo,
  endOf,
  isIn,
  namesFor,
  prefixOf,
  randomKeyIn,
} from '../../../../agent/kademlia/routing/contact.ts';
import { KEY_BITS } from '../../../../assignment/identifiers.ts';
import { contactOf, idsOf, keyOfBits, namedIdentifiers } from '../contacts.ts';

test('contact: a prefix has the first bits of the key, and zeros', () => {
  assert.deepEqual(prefixOf(keyOfBits('1011'), 2), { bits: keyOfBits('10'), length: 2 });
  assert.deepEqual(prefixOf(keyOfBits('1011'), 0), { bits: 0n, length: 0 });
  assert.deepEqual(prefixOf(5n, KEY_BITS), { bits: 5n, length: KEY_BITS });
});

test('contact: a region holds the keys with its prefix, and ends before the next', () => {
  const region = prefixOf(keyOfBits('10'), 2);
  const end = endOf(region);
  assert.ok(isIn(keyOfBits('10'), region) && isIn(end - 1n, region));
  assert.ok(!isIn(keyOfBits('01'), region) && !isIn(end, region));
  assert.equal(end, keyOfBits('11'));
  assert.ok(isIn(2n ** 160n - 1n, prefixOf(0n, 0)));
});

test('contact: a random key of a region has its prefix and random bits after it', () => {
  const region = prefixOf(keyOfBits('101'), 3);
  assert.equal(
    randomKeyIn(region, () => 0),
    keyOfBits('101'),
  );
  assert.equal(
    randomKeyIn(region, () => 1 - 2 ** -32),
    endOf(region) - 1n,
  );
  assert.equal(
    randomKeyIn(prefixOf(7n, KEY_BITS), () => 0.5),
    7n,
  );
});

test('contact: the distance is that of the nearest identifier', () => {
  const identifiers = ['1', '001', '01'].map(keyOfBits);
  assert.equal(distanceTo(0n, identifiers), keyOfBits('001'));
  assert.equal(distanceTo(keyOfBits('11'), identifiers), keyOfBits('01'));
});

test('contact: drained agents are named after the others of a region', () => {
  const drained = Array.from({ length: 64 }, (_, i) => ({ ...contactOf(`0/${i}`), capacity: 0 }));
  const agents = [...drained, contactOf('01'), contactOf('001')];
  const named = namesFor(prefixOf(0n, 1), agents, namedIdentifiers);
  assert.deepEqual(idsOf(named).slice(0, 3), ['001', '01', '0/0']);
  assert.equal(named.length, 64);
});
