import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bucket, type SeenAgent } from '../../../../agent/kademlia/routing/bucket.ts';
import { prefixOf } from '../../../../agent/kademlia/routing/contact.ts';
import { contactOf, keyOfBits, namedIdentifiers } from '../contacts.ts';

function agentOf(id: string, seenMs: number): SeenAgent {
  const contact = contactOf(id);
  return { contact, identifiers: namedIdentifiers(contact), seenMs, contactIn: 0, waitingIn: 0 };
}

function fullBucket(): { bucket: Bucket; old: SeenAgent[]; young: SeenAgent[] } {
  const bucket = new Bucket(prefixOf(0n, 0), 2, 0);
  const old = [agentOf('0/old', 1), agentOf('1/old', 2)];
  const young = [agentOf('0/young', 3), agentOf('1/young', 4)];
  for (const agent of old) bucket.add(agent);
  for (const agent of young) bucket.wait(agent);
  return { bucket, old, young };
}

test('bucket: an agent that is seen again becomes the most recently seen', () => {
  const { bucket, old } = fullBucket();
  assert.equal(bucket.leastRecentlySeen, old[0]);
  bucket.add(old[0]!);
  assert.equal(bucket.leastRecentlySeen, old[1]);
  assert.equal(old[0]!.contactIn, 1);
});

test('bucket: the most recently seen waiting agent replaces one that failed', () => {
  const { bucket, old, young } = fullBucket();
  assert.equal(bucket.delete(old[1]!), young[1]);
  assert.deepEqual([...bucket.contacts.keys()], ['0/old', '1/young']);
  assert.deepEqual([...bucket.waiting.keys()], ['0/young']);
  assert.deepEqual([young[1]!.contactIn, young[1]!.waitingIn, old[1]!.contactIn], [1, 0, 0]);
});

test('bucket: a waiting agent goes behind contacts that were seen before it, and before others', () => {
  const { bucket, old, young } = fullBucket();
  old[0]!.seenMs = 5;
  bucket.add(old[0]!);
  bucket.delete(old[1]!);
  assert.deepEqual([...bucket.contacts.keys()], ['1/young', '0/old']);
  assert.equal(old[0]!.contactIn, 1);
  bucket.delete(young[1]!);
  assert.deepEqual([...bucket.contacts.keys()], ['0/young', '0/old']);
});

test('bucket: beyond its size the waiting agent that was least recently seen is dropped', () => {
  const { bucket, young } = fullBucket();
  bucket.wait(young[0]!);
  assert.ok(!bucket.hasDropped);
  assert.equal(bucket.wait(agentOf('0/third', 5)), young[1]);
  assert.deepEqual([...bucket.waiting.keys()], ['0/young', '0/third']);
  assert.ok(bucket.hasDropped);
  assert.equal(young[1]!.waitingIn, 0);
});

test('bucket: a waiting agent that failed does not get a place', () => {
  const { bucket, old, young } = fullBucket();
  assert.equal(bucket.delete(young[1]!), undefined);
  assert.equal(bucket.delete(old[0]!), young[0]);
  assert.equal(bucket.delete(old[1]!), undefined);
  assert.deepEqual([...bucket.contacts.keys()], ['0/young']);
});

test('bucket: is urgent when its last contact fails after agents were dropped', () => {
  const lost = (withDropped: boolean): boolean => {
    const { bucket, old, young } = fullBucket();
    if (withDropped) bucket.wait(agentOf('0/third', 5));
    assert.ok(!bucket.isUrgent);
    for (const agent of [...bucket.waiting.values(), ...old, ...young]) bucket.delete(agent);
    return bucket.isUrgent;
  };
  assert.deepEqual([lost(true), lost(false)], [true, false]);
});

test('bucket: a split gives an agent to every half in which it has an identifier', () => {
  const bucket = new Bucket(prefixOf(0n, 0), 3, 7);
  const agents = [agentOf('01+1', 1), agentOf('00', 2), agentOf('11', 3)];
  for (const agent of agents) bucket.add(agent);
  const halves = bucket.split([prefixOf(0n, 1), prefixOf(keyOfBits('1'), 1)]);
  assert.deepEqual(
    halves.map(({ contacts, lookedUpMs }) => [[...contacts.keys()], lookedUpMs]),
    [
      [['01+1', '00'], 7],
      [['01+1', '11'], 7],
    ],
  );
  assert.deepEqual(
    agents.map(({ contactIn }) => contactIn),
    [2, 1, 1],
  );
});
