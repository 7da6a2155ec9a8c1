import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FirstContacts } from '../../../agent/kademlia/first-contacts.ts';

const of = (address: string, ...endpoints: string[]) =>
  new FirstContacts({ endpoints, address, heartbeatMs: 100, suspectAfterMs: 1000 });
const none = new Set<string>();

test('first contacts: an agent that is no contact waits for one of them', () => {
  assert.equal(of('tcp://h:1', 'tcp://h:2').mayBeginAlone, false);
  assert.equal(of('tcp://h:1', 'tcp://h:1', 'tcp://h:2').mayBeginAlone, true);
});

test('first contacts: asks all others with each heartbeat until it has a member', () => {
  const contacts = of('tcp://h:1', 'tcp://h:1', 'tcp://h:2', 'tcp://h:3');
  assert.deepEqual(contacts.due(none, 0), ['tcp://h:2', 'tcp://h:3']);
  assert.deepEqual(contacts.due(none, 99), []);
  assert.deepEqual(contacts.due(none, 100), ['tcp://h:2', 'tcp://h:3']);
});

test('first contacts: with members, asks one after the other, and members no more', () => {
  const contacts = of('tcp://h:1', 'tcp://h:2', 'tcp://h:3');
  const known = new Set(['tcp://h:2', 'tcp://h:9']);
  contacts.due(none, 0);
  assert.deepEqual(contacts.due(known, 999), []);
  assert.deepEqual(contacts.due(known, 1000), []);
  assert.deepEqual(contacts.due(known, 1999), []);
  assert.deepEqual(contacts.due(known, 2000), ['tcp://h:3']);
  assert.deepEqual(contacts.due(known, 3000), []);
  assert.deepEqual(contacts.due(known, 4000), ['tcp://h:3']);
});
