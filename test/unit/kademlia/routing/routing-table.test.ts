import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type IdentifiersOf, isIn, prefixOf } from '../../../../agent/kademlia/routing/contact.ts';
import {
  RoutingTable,
  type RoutingTableOptions,
} from '../../../../agent/kademlia/routing/routing-table.ts';
import { contactOf, idsOf, keyOfBits, namedIdentifiers } from '../contacts.ts';

const pingTimeoutMs = 100;
const refreshMs = 1000;

/** A table with buckets of two, which has seen these agents at the times 1, 2 and so on. */
function tableOf(ids: readonly string[], options: Partial<RoutingTableOptions> = {}): RoutingTable {
  const table = new RoutingTable({
    self: contactOf('0000'),
    identifiersOf: namedIdentifiers,
    bucketSize: 2,
    pingTimeoutMs,
    pingAfterMs: 0,
    refreshMs,
    ...options,
  });
  for (const [at, id] of ids.entries()) table.seen(contactOf(id), at + 1);
  return table;
}

function regionsOf(table: RoutingTable): Record<string, string[]> {
  return Object.fromEntries(
    table.buckets().map(({ prefix, ids }) => {
      const bits = prefix.bits.toString(2).padStart(160, '0').slice(0, prefix.length);
      return [bits, ids];
    }),
  );
}

test('routing table: a full bucket splits if an own identifier is in its region', () => {
  assert.deepEqual(regionsOf(tableOf(['1/a', '0/a'])), { '': ['1/a', '0/a'] });
  const table = tableOf(['1/a', '0/a', '01/b', '1/b', '001/c']);
  assert.deepEqual(regionsOf(table), {
    '00': ['0/a', '001/c'],
    '01': ['01/b'],
    '1': ['1/a', '1/b'],
  });
});

test('routing table: buckets split at each of several own identifiers', () => {
  const self = contactOf('0000+11');
  const table = tableOf(['1/a', '11/a', '10/b', '0/a', '01/b', '01/c'], { self });
  assert.deepEqual(regionsOf(table), {
    '00': ['0/a'],
    '01': ['01/b', '01/c'],
    '10': ['1/a', '10/b'],
    '11': ['11/a'],
  });
});

test('routing table: an agent is in each bucket in whose region it has an identifier, once', () => {
  const table = tableOf(['1+101+01', '0/a', '01/b']);
  assert.deepEqual(regionsOf(table), {
    '00': ['0/a'],
    '01': ['1+101+01', '01/b'],
    '1': ['1+101+01'],
  });
  assert.deepEqual(idsOf(table.contacts()), ['01/b', '0/a', '1+101+01']);
});

test('routing table: this agent is never its own contact', () => {
  const table = tableOf(['0000']);
  assert.deepEqual(table.contacts(), []);
});

test('routing table: a new agent waits while the least recently seen contact of a full bucket is pinged', () => {
  const table = tableOf(['1/a', '1/b', '1/c']);
  assert.deepEqual(idsOf(table.pings(10)), ['1/a']);
  assert.deepEqual(table.pings(11), []);
  assert.deepEqual(idsOf(table.contacts()), ['1/b', '1/a']);
});

test('routing table: a contact that answers the ping stays', () => {
  const table = tableOf(['1/a', '1/b', '1/c']);
  table.pings(10);
  table.seen(contactOf('1/a'), 20);
  assert.deepEqual(table.pings(10 + pingTimeoutMs), []);
  assert.deepEqual(idsOf(table.contacts()), ['1/a', '1/b']);
});

test('routing table: a contact that does not answer the ping gives way to the new agent', () => {
  const table = tableOf(['1/a', '1/b', '1/c']);
  table.pings(10);
  table.pings(10 + pingTimeoutMs - 1);
  assert.deepEqual(idsOf(table.contacts()), ['1/b', '1/a']);
  table.pings(10 + pingTimeoutMs);
  assert.deepEqual(idsOf(table.contacts()), ['1/c', '1/b']);
  assert.deepEqual(table.pings(10 + pingTimeoutMs), []);
});

test('routing table: more new agents do not give a pinged contact more time', () => {
  const table = tableOf(['1/a', '1/b', '1/c']);
  table.pings(10);
  table.seen(contactOf('1/d'), 50);
  assert.deepEqual(table.pings(60), []);
  table.pings(10 + pingTimeoutMs);
  assert.deepEqual(idsOf(table.contacts()), ['1/d', '1/b']);
});

test('routing table: an agent that waits in one region and is a contact in another can fail', () => {
  const table = tableOf(['1/a', '1/b', '0/a', '01/b', '1+01']);
  table.failed(contactOf('1/a'));
  assert.deepEqual(regionsOf(table)['1'], ['1/b', '1+01']);
  table.failed(contactOf('1+01'));
  assert.deepEqual(idsOf(table.closest(keyOfBits('1'), 9, false)), ['1/b', '0/a', '01/b']);
});

test('routing table: a contact that was seen a short time ago is not pinged', () => {
  const table = tableOf(['1/a', '1/b', '1/c'], { pingAfterMs: 50 });
  assert.deepEqual(table.pings(40), []);
  table.seen(contactOf('1/c'), 51);
  assert.deepEqual(idsOf(table.pings(51)), ['1/a']);
});

/** Verifies the regions 1 and 01, and returns who is pinged. */
function verified(table: RoutingTable, now: number): string[] {
  for (const bits of ['1', '01']) table.verify(prefixOf(keyOfBits(bits), bits.length), now);
  return idsOf(table.pings(now));
}

test('routing table: a region is verified by a ping to its contact that was seen last', () => {
  const table = tableOf(['1/a', '11/b', '0/a'], { bucketSize: 4 });
  assert.deepEqual(verified(table, pingTimeoutMs), [], 'it was seen a short time ago');
  assert.deepEqual(verified(table, 2 * pingTimeoutMs), ['11/b']);
  table.seen(contactOf('11/b'), 2 * pingTimeoutMs);
  assert.deepEqual(verified(table, 3 * pingTimeoutMs - 1), []);
  assert.deepEqual(verified(table, 4 * pingTimeoutMs), ['11/b'], 'the others are not pinged');
});

test('routing table: all agents of a region are pinged at once if that contact is silent', () => {
  const table = tableOf(['0/a', '1/a', '1/b', '1/c'], { pingAfterMs: 1000 });
  assert.deepEqual(verified(table, 2 * pingTimeoutMs), ['1/c']);
  // One of them waits for a place in the bucket, and one answers.
  assert.deepEqual(verified(table, 3 * pingTimeoutMs).sort(), ['1/a', '1/b']);
  table.seen(contactOf('1/a'), 3 * pingTimeoutMs);
  verified(table, 4 * pingTimeoutMs);
  const region = prefixOf(keyOfBits('1'), 1);
  assert.deepEqual(idsOf(table.contactsIn(region, 9)), ['1/a']);
});

test('routing table: at most 64 agents of a region are pinged at once', () => {
  const ids = Array.from({ length: 70 }, (_, i) => `1/${i}`);
  const table = tableOf(ids, { bucketSize: 70 });
  assert.equal(verified(table, 70 + 3 * pingTimeoutMs).length, 64);
});

test('routing table: an agent that lost its place while it was to be pinged is not', () => {
  const table = tableOf(['0/a', '1/a', '1/b', '1/c', '1/d']);
  table.verify(prefixOf(keyOfBits('1'), 1), 3 * pingTimeoutMs);
  table.seen(contactOf('1/e'), 3 * pingTimeoutMs);
  assert.ok(!idsOf(table.pings(3 * pingTimeoutMs)).includes('1/c'));
});

test('routing table: a contact that failed is replaced by the newest waiting agent', () => {
  const table = tableOf(['1/a', '1/b', '1/c', '1/d']);
  table.failed(contactOf('1/b'));
  assert.deepEqual(idsOf(table.contacts()), ['1/d', '1/a']);
  assert.deepEqual(idsOf(table.closest(keyOfBits('1'), 5, false)), ['1/a', '1/d']);
  table.failed(contactOf('1/unknown'));
  for (const id of ['1/a', '1/c', '1/d']) table.failed(contactOf(id));
  assert.deepEqual(table.contacts(), []);
  assert.deepEqual(table.closest(0n, 5, false), []);
});

test('routing table: a failure at an address that an agent has left does not remove it', () => {
  const table = tableOf(['1/a']);
  table.seen(contactOf('1/a', 'elsewhere:1'), 2);
  table.failed(contactOf('1/a'));
  assert.deepEqual(table.contacts(), [contactOf('1/a', 'elsewhere:1')]);
  table.failed(contactOf('1/a', 'elsewhere:1'));
  assert.deepEqual(table.contacts(), []);
});

test('routing table: an agent with another capacity has other identifiers', () => {
  const table = tableOf(['01+1']);
  const inOne = () => idsOf(table.contactsIn(prefixOf(keyOfBits('1'), 1), 9));
  assert.deepEqual(inOne(), ['01+1']);
  table.seen({ ...contactOf('01+1'), capacity: 0.5 }, 2);
  assert.deepEqual(inOne(), []);
  assert.equal(table.contacts()[0]?.capacity, 0.5);
});

test('routing table: the closest are sorted by the nearest identifier, with this agent if asked', () => {
  const table = tableOf(['1/a', '01', '0001+11'], { bucketSize: 20, self: contactOf('001') });
  assert.deepEqual(idsOf(table.closest(0n, 3, false)), ['0001+11', '01', '1/a']);
  assert.deepEqual(idsOf(table.closest(0n, 3, true)), ['0001+11', '001', '01']);
  assert.deepEqual(idsOf(table.closest(keyOfBits('11'), 9, true)), ['0001+11', '1/a', '01', '001']);
  assert.deepEqual(table.closest(0n, 0, true), []);
  table.seen(contactOf('001/other'), 9);
  assert.deepEqual(idsOf(table.closest(keyOfBits('001'), 2, true)), ['001', '001/other']);
});

test('routing table: the contacts of a region are distinct and limited', () => {
  const table = tableOf(['1+101+111', '11', '01'], { bucketSize: 20 });
  const region = prefixOf(keyOfBits('1'), 1);
  assert.deepEqual(idsOf(table.contactsIn(region, 9)), ['1+101+111', '11']);
  assert.deepEqual(idsOf(table.contactsIn(region, 1)), ['1+101+111']);
});

test('routing table: a region is empty when every agent that was seen there has failed', () => {
  const table = tableOf(['1/a', '1/b', '1/c', '1/d']);
  const region = prefixOf(keyOfBits('1'), 1);
  assert.ok(table.isEmpty(prefixOf(keyOfBits('01'), 2)));
  assert.ok(!table.isEmpty(region) && !table.isEmpty(prefixOf(0n, 0)));
  // Nothing of this region is a contact, but something may wait.
  assert.ok(!table.isEmpty(prefixOf(keyOfBits('111'), 3)));
  for (const id of ['1/a', '1/b', '1/c', '1/d']) table.failed(contactOf(id));
  assert.ok(table.isEmpty(region) && table.isEmpty(prefixOf(keyOfBits('111'), 3)));
});

test('routing table: a region whose agents were dropped is not empty until it was looked up', () => {
  const ids = ['1/a', '1/b', '1/c', '1/d', '1/e'];
  const table = tableOf(ids);
  const region = prefixOf(keyOfBits('1'), 1);
  table.refreshes(10, () => 0.9);
  for (const id of ids) table.failed(contactOf(id));
  assert.deepEqual(table.contactsIn(region, 1), []);
  assert.ok(!table.isEmpty(region));
  const [key, ...others] = table.refreshes(11, () => 0.9);
  assert.ok(isIn(key!, region));
  assert.deepEqual([others, table.refreshes(12, () => 0.9)], [[], []]);
  assert.ok(!table.isEmpty(region));
  table.lookedUp(key!, 20);
  assert.ok(table.isEmpty(region));
});

test('routing table: a look-up that leaves a bucket full does not show that nobody else is there', () => {
  const table = tableOf(['1/a', '1/b', '1/c', '1/d', '1/e']);
  table.lookedUp(keyOfBits('11'), 9);
  for (const id of ['1/a', '1/b', '1/d', '1/e']) table.failed(contactOf(id));
  assert.ok(!table.isEmpty(prefixOf(keyOfBits('1'), 1)));
});

test('routing table: regions without a look-up for refreshMs are to be looked up at a random key', () => {
  const table = tableOf(['1/a', '1/b', '0/a']);
  const due = (now: number) => table.refreshes(now, () => 0.99).map((key) => key >> 159n);
  assert.deepEqual(due(10), [0n, 1n]);
  assert.deepEqual(due(11), []);
  table.lookedUp(keyOfBits('11'), 500);
  assert.deepEqual(due(10 + refreshMs - 1), []);
  assert.deepEqual(due(10 + refreshMs), [0n]);
  assert.deepEqual(due(500 + refreshMs), [1n]);
});

test('routing table: a joining agent looks up regions of which its own look-ups tell nothing', () => {
  const table = tableOf(['1/a', '1/b', '0/a', '01/b', '001/c']);
  table.lookedUp(keyOfBits('0000'), 5);
  const due = table.refreshes(6, () => 0);
  assert.deepEqual(due, [keyOfBits('01'), keyOfBits('1')]);
});

test('routing table: agents with equal identifiers do not split buckets for ever', () => {
  const table = tableOf(['0000/a', '0000/b', '0000/c', '0000/d', '0000/e', '0000/f']);
  assert.equal(table.contacts().length, 2);
  assert.equal(table.buckets().length, 161);
  assert.deepEqual(table.buckets()[0]?.waiting, ['0000/e', '0000/f']);
});

test('routing table: forgets agents that wait nowhere any more', () => {
  const computed: string[] = [];
  const identifiersOf: IdentifiersOf = (agent) => {
    computed.push(agent.id);
    return namedIdentifiers(agent);
  };
  const table = tableOf(['1/a', '1/b', '1/c', '1/d', '1/e'], { identifiersOf });
  computed.length = 0;
  // The agent 1/c was dropped, and the others are remembered.
  for (const id of ['1/a', '1/b', '1/c', '1/d', '1/e']) table.seen(contactOf(id), 9);
  assert.equal(computed[0], '1/c');
  assert.ok(!computed.includes('1/a') && !computed.includes('1/b'));
});
