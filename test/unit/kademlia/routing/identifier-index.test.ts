import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefixOf } from '../../../../agent/kademlia/routing/contact.ts';
import { IdentifierIndex } from '../../../../agent/kademlia/routing/identifier-index.ts';
import { contactOf, keyOfBits, namedIdentifiers } from '../contacts.ts';

function indexOf(ids: readonly string[]): IdentifierIndex<string> {
  const index = new IdentifierIndex<string>();
  for (const id of ids) index.add(id, namedIdentifiers(contactOf(id)), id);
  return index;
}

test('identifier index: walks by distance, and names an agent once for each identifier', () => {
  const index = indexOf(['0001+111', '01', '1']);
  assert.deepEqual([...index.nearest(0n)], ['0001+111', '01', '1', '0001+111']);
  assert.deepEqual([...index.nearest(keyOfBits('11'))], ['0001+111', '1', '01', '0001+111']);
});

test('identifier index: agents with an equal identifier are ordered by name', () => {
  const index = indexOf(['01/c', '01/a', '01/b']);
  assert.deepEqual([...index.nearest(0n)], ['01/a', '01/b', '01/c']);
  index.delete('01/b', namedIdentifiers(contactOf('01/b')));
  assert.deepEqual([...index.nearest(keyOfBits('1'))], ['01/a', '01/c']);
});

test('identifier index: finds what is in a region', () => {
  const index = indexOf(['001', '010', '0111', '1']);
  assert.deepEqual([...index.within(prefixOf(keyOfBits('01'), 2))], ['010', '0111']);
  assert.deepEqual([...index.within(prefixOf(0n, 0))], ['001', '010', '0111', '1']);
  assert.deepEqual([...index.within(prefixOf(keyOfBits('11'), 2))], []);
});

test('identifier index: an agent that is not in it can be deleted', () => {
  const index = indexOf(['001']);
  index.delete('0', [0n]);
  index.delete('001/other', [keyOfBits('001')]);
  assert.deepEqual([...index.nearest(0n)], ['001']);
});
