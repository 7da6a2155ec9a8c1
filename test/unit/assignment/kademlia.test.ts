import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY_BITS, type Key } from '../../../assignment/identifiers.ts';
import { Kademlia } from '../../../assignment/kademlia.ts';
import { readCases } from './cases.ts';
import { givenSha1, sha1 } from './sha1.ts';

const three = [
  { id: 'a1', capacity: 1 },
  { id: 'a2', capacity: 1 },
  { id: 'a3', capacity: 2 },
];

/** Agents with one given identifier each, and hosts with given keys. */
function placed(
  agents: Readonly<Record<string, Key>>,
  hosts: Readonly<Record<string, Key>> = {},
): Kademlia {
  const members = Object.keys(agents).map((id) => ({ id, capacity: 1 }));
  const identifiers = Object.entries(agents).map(([id, key]) => [`${id}/0`, key]);
  return new Kademlia(members, {
    sha1: givenSha1({ ...Object.fromEntries(identifiers), ...hosts }),
    ids: 1,
  });
}

test('kademlia: the distance is the XOR, not the difference', () => {
  const half = 2n ** 159n;
  const agents = { beside: half - 1n, last: 2n * half - 1n, zero: 0n };
  const kademlia = placed(agents, { host: half });
  assert.deepEqual(kademlia.order('host'), ['last', 'zero', 'beside']);
});

test('kademlia: identifiers that differ only in their last bits are told apart', () => {
  const key = 2n ** 160n - 1n;
  const agents = { a: key - 3n, b: key - 2n, c: key - 1n, d: key };
  const kademlia = placed(agents, { h0: key, h1: key - 1n, h2: key - 2n, h3: key - 3n });
  assert.deepEqual(kademlia.order('h0'), ['d', 'c', 'b', 'a']);
  assert.deepEqual(kademlia.order('h1'), ['c', 'd', 'a', 'b']);
  assert.deepEqual(kademlia.order('h2'), ['b', 'a', 'd', 'c']);
  assert.deepEqual(kademlia.order('h3'), ['a', 'b', 'c', 'd']);
});

test('kademlia: a host whose key is an identifier belongs to the agent of that identifier', () => {
  // The name of a host has no slash, but the hash function does not know that.
  const kademlia = new Kademlia(three, { sha1, ids: 4 });
  for (const [id, count] of Object.entries({ a1: 4, a2: 4, a3: 8 })) {
    for (let i = 0; i < count; i++) assert.equal(kademlia.owner(`${id}/${i}`), id);
  }
});

test('kademlia: an agent is as near as its nearest identifier, and is listed once', () => {
  const given = givenSha1({ 'a/0': 0n, 'a/1': 15n, 'b/0': 12n, 'b/1': 3n, host: 14n });
  const members = ['a', 'b'].map((id) => ({ id, capacity: 2 }));
  const kademlia = new Kademlia(members, { sha1: given, ids: 1 });
  assert.deepEqual(kademlia.order('host'), ['a', 'b']);
});

test('kademlia: agents with equal identifiers are ordered by name, and the first owns all', () => {
  const kademlia = placed({ c: 8n, b: 8n, e: 1n, d: 8n, a: 8n }, { near: 9n, far: 0n });
  assert.deepEqual(kademlia.order('near'), ['a', 'b', 'c', 'd', 'e']);
  assert.deepEqual(kademlia.order('far'), ['e', 'a', 'b', 'c', 'd']);
  assert.deepEqual(kademlia.order('near', 1), ['a']);
  assert.deepEqual(Object.fromEntries(kademlia.shares()), { a: 0.5, b: 0, c: 0, d: 0, e: 0.5 });
});

test('kademlia: each fork of the trie divides the share of its subtree in half', () => {
  const top = (bits: string): Key => BigInt(`0b${bits.padEnd(KEY_BITS, '0')}`);
  const kademlia = placed({ a: top('0000'), b: top('0001'), c: top('011'), d: top('1011') });
  assert.deepEqual(Object.fromEntries(kademlia.shares()), {
    a: 1 / 8,
    b: 1 / 8,
    c: 1 / 4,
    d: 1 / 2,
  });
});

test('kademlia: the share of an agent is the sum of the shares of its identifiers', () => {
  const given = givenSha1({ 'a/0': 0n, 'a/1': 1n, 'b/0': 2n, 'b/1': 2n ** 100n });
  const members = ['a', 'b'].map((id) => ({ id, capacity: 1 }));
  const kademlia = new Kademlia(members, { sha1: given, ids: 2 });
  assert.deepEqual(Object.fromEntries(kademlia.shares()), { a: 1 / 4, b: 3 / 4 });
});

test('kademlia: a limited list is the beginning of the full one, in any sequence of calls', () => {
  const members = Array.from({ length: 6 }, (_, i) => ({ id: `a${i}`, capacity: 1 }));
  const whole = new Kademlia(members, { sha1, ids: 4 });
  for (let host = 0; host < 100; host++) {
    const order = whole.order(`h${host}.test`);
    assert.equal(order.length, 6);
    const limited = new Kademlia(members, { sha1, ids: 4 });
    for (const count of [2, 0, -1, 1, 3, 5, 9, 4, Number.POSITIVE_INFINITY, 6]) {
      const expected = order.slice(0, Math.max(0, count));
      assert.deepEqual(limited.order(`h${host}.test`, count), expected);
      const fresh = new Kademlia(members, { sha1, ids: 4 });
      assert.deepEqual(fresh.order(`h${host}.test`, count), expected);
    }
    assert.equal(new Kademlia(members, { sha1, ids: 4 }).owner(`h${host}.test`), order[0]);
  }
});

test('kademlia: gives each host its own owner when there are more hosts than cache entries', () => {
  const kademlia = new Kademlia(three, { sha1, ids: 8 });
  const hosts = Array.from({ length: 70_000 }, (_, i) => `h${i}.test`);
  const before = hosts.map((host) => kademlia.owner(host));
  assert.equal(new Set(before).size, 3);
  assert.deepEqual(
    hosts.map((host) => kademlia.owner(host)),
    before,
  );
});

test('kademlia: a host that is asked for again is hashed only once', () => {
  let hashed = 0;
  const kademlia = new Kademlia(three, {
    ids: 1,
    sha1: (text) => {
      hashed++;
      return sha1(text);
    },
  });
  assert.equal(hashed, 4);
  for (let i = 0; i < 3; i++) {
    kademlia.owner('example.org');
    kademlia.order('example.org');
  }
  assert.equal(hashed, 5);
});

test('kademlia: without agents no host has an owner', () => {
  const kademlia = new Kademlia([], { sha1, ids: 8 });
  assert.equal(kademlia.owner('example.org'), undefined);
  assert.deepEqual(kademlia.order('example.org'), []);
  assert.deepEqual([...kademlia.shares()], []);
});

test('kademlia: a single agent owns everything, with one identifier or with many', () => {
  for (const ids of [1, 200]) {
    const kademlia = new Kademlia([{ id: 'a', capacity: 1 }], { sha1, ids });
    assert.deepEqual(kademlia.order('example.org'), ['a']);
    assert.deepEqual([...kademlia.shares()], [['a', 1]]);
  }
});

test('kademlia: refuses a view with two members of the same identifier', () => {
  const twice = [...three, { id: 'a2', capacity: 3 }];
  assert.throws(() => new Kademlia(twice, { sha1, ids: 8 }), /a2/);
});

interface OrderCase {
  ids: number;
  agents: Record<string, number>;
  order: Record<string, string[]>;
}

test('kademlia: gives every preference list of the independent cases', (t) => {
  const cases = readCases<OrderCase[]>('kademlia_order.json', t);
  if (cases === undefined) return;
  for (const { ids, agents, order } of cases) {
    const members = Object.entries(agents).map(([id, capacity]) => ({ id, capacity }));
    const kademlia = new Kademlia(members, { sha1, ids });
    for (const [host, expected] of Object.entries(order)) {
      assert.equal(kademlia.owner(host), expected[0]);
      assert.deepEqual(kademlia.order(host), expected, host);
    }
  }
});

interface DistanceCases {
  kademlia: {
    sortByDistance: { center: number; ids: string[]; order: number[] };
    samples: { bits: number; x: string; y: string; z: string; closerToX: string }[];
  };
}

/** Fits a number into the key space; of a longer one, the first and the last 80 bits remain. */
function fitted(hex: string): Key {
  return BigInt(`0x${hex.length > 40 ? hex.slice(0, 20) + hex.slice(-20) : hex}`);
}

test('kademlia: sorts by distance as the independent cases do', (t) => {
  const cases = readCases<DistanceCases>('ring_kademlia.json', t);
  if (cases === undefined) return;
  const { sortByDistance, samples } = cases.kademlia;
  const keys = sortByDistance.ids.map(fitted);
  const agents = Object.fromEntries(keys.map((key, i) => [`a${i}`, key]));
  const kademlia = placed(agents, { center: keys[sortByDistance.center]! });
  const expected = sortByDistance.order.map((i) => `a${i}`);
  assert.deepEqual(kademlia.order('center'), expected);
  for (const { x, y, z, closerToX } of samples) {
    const two = placed({ y: fitted(y), z: fitted(z) }, { x: fitted(x) });
    assert.equal(two.owner('x'), closerToX);
  }
});
