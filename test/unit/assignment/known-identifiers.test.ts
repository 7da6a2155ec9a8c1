import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identifiersOf, type Sha1 } from '../../../assignment/identifiers.ts';
import { Kademlia } from '../../../assignment/kademlia.ts';
import { KnownIdentifiers } from '../../../assignment/known-identifiers.ts';
import { sha1 } from './sha1.ts';

/** SHA-1 that records what it hashes. */
function recordingSha1(): { hashed: string[]; sha1: Sha1 } {
  const hashed: string[] = [];
  const record: Sha1 = (text) => {
    hashed.push(text);
    return sha1(text);
  };
  return { hashed, sha1: record };
}

test('known identifiers: are computed once per agent for any number of views', () => {
  const recording = recordingSha1();
  const known = new KnownIdentifiers({ sha1: recording.sha1, ids: 2 });
  const members = ['a', 'b', 'c'].map((id) => ({ id, capacity: 1 }));
  for (let view = 0; view < 5; view++) new Kademlia(members, known);
  assert.deepEqual(recording.hashed, ['a/0', 'a/1', 'b/0', 'b/1', 'c/0', 'c/1']);
});

test('known identifiers: differ for agents, and follow a change of capacity', () => {
  const options = { sha1, ids: 4 };
  const known = new KnownIdentifiers(options);
  for (const capacity of [1, 12, 1, 0.5]) {
    for (const id of ['a', '2a', 'b']) {
      const member = { id, capacity };
      assert.deepEqual(known.of(member), identifiersOf(member, options));
    }
  }
});

test('known identifiers: are computed again when there were too many to keep all', () => {
  const recording = recordingSha1();
  const known = new KnownIdentifiers({ sha1: recording.sha1, ids: 10_000 });
  const first = known.of({ id: 'a0', capacity: 1 });
  // The maximum is 131,072 identifiers: 13 of these agents fit, 14 do not.
  for (let i = 1; i < 13; i++) known.of({ id: `a${i}`, capacity: 1 });
  assert.equal(known.of({ id: 'a0', capacity: 1 }), first);
  known.of({ id: 'a13', capacity: 1 });
  recording.hashed.length = 0;
  assert.deepEqual(known.of({ id: 'a0', capacity: 1 }), first);
  assert.equal(recording.hashed.length, 10_000);
  known.of({ id: 'a13', capacity: 1 });
  assert.equal(recording.hashed.length, 10_000);
});
