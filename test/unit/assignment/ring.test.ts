import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ring } from '../../../assignment/ring.ts';
import { RingPoints } from '../../../assignment/ring-points.ts';
import { readCases } from './cases.ts';
import { collidingSha256, placedSha256, sha256 } from './sha256.ts';

const three = [
  { id: 'a1', capacity: 1 },
  { id: 'a2', capacity: 1 },
  { id: 'a3', capacity: 2 },
];

test('ring: derives the known first points of agents from their identifiers in UTF-8', () => {
  const points = new RingPoints({ replicas: 200, sha256 });
  assert.deepEqual(
    [...points.points('a1', 1).subarray(0, 3)],
    [15718095167892722130n, 6517644697230857533n, 15072035371022717363n],
  );
  assert.deepEqual(
    [...points.points('节点8', 3).subarray(0, 2)],
    [1606326990263179841n, 10006458894088514185n],
  );
});

test('ring: a host that lies exactly on a point belongs to the agent of that point', () => {
  const points = new RingPoints({ replicas: 20, sha256: placedSha256 });
  const ring = new Ring(three, points);
  for (const { id, capacity } of three) {
    for (const place of points.points(id, capacity)) assert.equal(ring.owner(`@${place}`), id);
  }
});

test('ring: places 0 and 2^64 - 1 are neighbours, because the circle is closed', () => {
  const points = new RingPoints({ replicas: 20, sha256: placedSha256 });
  const ring = new Ring(three, points);
  assert.deepEqual(ring.order('@0'), ring.order(`@${2n ** 64n - 1n}`));
  const all = three.flatMap(({ id, capacity }) =>
    [...points.points(id, capacity)].map((place) => ({ id, place })),
  );
  const nearest = all.sort((a, b) => (around(a.place) < around(b.place) ? -1 : 1))[0]!;
  assert.equal(ring.owner('@0'), nearest.id);
});

/** Circular distance from place 0. */
function around(place: bigint): bigint {
  return place < 2n ** 63n ? place : 2n ** 64n - place;
}

test('ring: a limited preference list is the beginning of the full list, in any sequence of calls', () => {
  const whole = new Ring(three, { replicas: 50, sha256 });
  for (let host = 0; host < 200; host++) {
    const order = whole.order(`h${host}.test`);
    assert.equal(order.length, 3);
    for (const count of [2, 0, 1, 3, 9]) {
      const ring = new Ring(three, { replicas: 3, sha256 });
      const expected = ring.order(`h${host}.test`).slice(0, count);
      assert.deepEqual(ring.order(`h${host}.test`, count), expected);
    }
    assert.deepEqual(whole.order(`h${host}.test`, 2), order.slice(0, 2));
    assert.equal(whole.owner(`h${host}.test`), order[0]);
  }
});

test('ring: gives each host its own owner when there are more hosts than cache entries', () => {
  const ring = new Ring(three, { replicas: 10, sha256: placedSha256 });
  const hosts = Array.from({ length: 70_000 }, (_, i) => `@${BigInt(i) * 263_523_915_338_707n}`);
  const before = hosts.map((host) => ring.owner(host));
  assert.equal(new Set(before).size, 3);
  assert.deepEqual(
    hosts.map((host) => ring.owner(host)),
    before,
  );
});

test('ring: without agents no host has an owner', () => {
  const ring = new Ring([], { replicas: 200, sha256 });
  assert.equal(ring.owner('example.org'), undefined);
  assert.deepEqual(ring.order('example.org'), []);
  assert.deepEqual([...ring.shares()], []);
});

test('ring: a single agent owns everything, with one point or with many', () => {
  for (const replicas of [1, 200]) {
    const ring = new Ring([{ id: 'a', capacity: 1 }], { replicas, sha256 });
    assert.deepEqual(ring.order('example.org'), ['a']);
    assert.ok(Math.abs(ring.shares().get('a')! - 1) < 1e-9);
  }
});

test('ring: agents with identical points are ordered by identifier, and the first owns all', () => {
  const members = ['a#2', 'a#3', 'a#1'].map((id) => ({ id, capacity: 1 }));
  const ring = new Ring(members, { replicas: 5, sha256: collidingSha256 });
  for (let host = 0; host < 50; host++) {
    assert.deepEqual(ring.order(`h${host}.test`), ['a#1', 'a#2', 'a#3']);
  }
  assert.ok(Math.abs(ring.shares().get('a#1')! - 1) < 1e-9);
  assert.equal(ring.shares().get('a#3'), 0);
});

test('ring: an agent has max(1, round(capacity x replicas)) points, up to a maximum', () => {
  const points = new RingPoints({ replicas: 200, sha256 });
  const pointCount = (capacity: number): number => points.points('a', capacity).length;
  assert.equal(pointCount(0.5), 100);
  assert.equal(pointCount(0.0025), 1);
  assert.equal(pointCount(0.0001), 1);
  assert.equal(pointCount(0.0126), 3);
  assert.equal(pointCount(1e300), 100_000);
  assert.throws(() => pointCount(Number.NaN), RangeError);
  const counts = new Ring(three, { replicas: 10, sha256 }).pointCounts();
  assert.deepEqual([...counts], Object.entries({ a1: 10, a2: 10, a3: 20 }));
});

test('ring: refuses a view with two members of the same identifier', () => {
  const twice = [...three, { id: 'a2', capacity: 3 }];
  assert.throws(() => new Ring(twice, { replicas: 10, sha256 }), /a2/);
});

test('ring points: are computed once per agent, and again only for a higher capacity', () => {
  let hashed = 0;
  const points = new RingPoints({
    replicas: 10,
    sha256: (text) => {
      hashed++;
      return sha256(text);
    },
  });
  for (let view = 0; view < 5; view++) new Ring(three, points);
  assert.equal(hashed, 3);
  const small = [...points.points('a1', 1)];
  const large = [...points.points('a1', 2)];
  assert.equal(hashed, 4);
  assert.deepEqual(large.slice(0, 10), small);
  assert.deepEqual([...points.points('a1', 1)], small);
  assert.equal(hashed, 4);
});

test('ring points: drops the oldest entries, and keeps the newest', () => {
  const hashed: string[] = [];
  const points = new RingPoints({
    replicas: 100_000,
    sha256: (text) => {
      hashed.push(text);
      return sha256(text);
    },
  });
  // The maximum is a million points: ten of these agents fit, eleven do not.
  for (let i = 0; i <= 10; i++) points.points(`a${i}`, 1);
  hashed.length = 0;
  points.points('a10', 1);
  points.points('a1', 1);
  assert.deepEqual(hashed, []);
  points.points('a0', 1);
  assert.deepEqual(hashed, ['a0']);
});

interface ClusterCase {
  agents: Record<string, number>;
  replicas: number;
  firstPoints: Record<string, string[]>;
  order: Record<string, string[]>;
}

test('ring: gives every point and preference list of the independent cases', (t) => {
  const cases = readCases<ClusterCase[]>('ring.json', t);
  if (cases === undefined) return;
  for (const { agents, replicas, firstPoints, order } of cases) {
    const members = Object.entries(agents).map(([id, capacity]) => ({ id, capacity }));
    const points = new RingPoints({ replicas, sha256 });
    const ring = new Ring(members, points);
    for (const [id, first] of Object.entries(firstPoints)) {
      const drawn = points.points(id, agents[id]!).subarray(0, first.length);
      assert.deepEqual([...drawn], first.map(BigInt));
    }
    for (const [host, expected] of Object.entries(order)) {
      assert.equal(ring.owner(host), expected[0]);
      assert.deepEqual(ring.order(host), expected, host);
    }
  }
});

interface BalanceCases {
  ring: {
    balance: { agents: number; replicasPerAgent: number; share3sigma: [number, number] }[];
  };
}

test('ring: shares lie within the theoretical bounds for a ring', (t) => {
  const cases = readCases<BalanceCases>('ring_kademlia.json', t);
  if (cases === undefined) return;
  for (const { agents, replicasPerAgent: replicas, share3sigma } of cases.ring.balance) {
    const members = Array.from({ length: agents }, (_, i) => ({ id: `agent-${i}`, capacity: 1 }));
    const [low, high] = share3sigma;
    for (const [id, share] of new Ring(members, { replicas, sha256 }).shares()) {
      assert.ok(share >= low && share <= high, `${id} of ${agents} x ${replicas}: ${share}`);
    }
  }
});
