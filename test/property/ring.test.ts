import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RingMember } from '../../assignment/assignment.ts';
import { Ring } from '../../assignment/ring.ts';
import { type RingOptions, RingPoints } from '../../assignment/ring-points.ts';
import { placedSha256, sha256 } from '../unit/assignment/sha256.ts';
import { assertDrainedLast, drainedOnes, withDrainedOnes } from './drained-lists.ts';

const hosts = Array.from({ length: 120 }, (_, i) => `h${i}.example.org`);

const member = fc.record({
  id: fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }),
  capacity: fc.constantFrom(0.01, 0.3, 0.5, 1, 2, 3),
});
const members = fc.uniqueArray(member, { minLength: 2, maxLength: 9, selector: (m) => m.id });
const replicas = fc.constantFrom(1, 2, 7, 40);

/** Computes the preference list of a host by a search over all points of all agents. */
function orderBySearch(of: readonly RingMember[], points: RingPoints, place: bigint): string[] {
  const distances = of.map(({ id, capacity }) => {
    const each = [...points.points(id, capacity)].map((point) => {
      const apart = point > place ? point - place : place - point;
      return apart > 2n ** 63n ? 2n ** 64n - apart : apart;
    });
    return { id, distance: each.reduce((a, b) => (a < b ? a : b)) };
  });
  distances.sort((a, b) => {
    if (a.distance !== b.distance) return a.distance < b.distance ? -1 : 1;
    return a.id < b.id ? -1 : 1;
  });
  return distances.map(({ id }) => id);
}

test('ring: the preference list is sorted by the distance of the nearest point, at random places', () => {
  const place = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  fc.assert(
    fc.property(members, replicas, fc.array(place, { maxLength: 20 }), (of, count, places) => {
      const points = new RingPoints({ replicas: count, sha256: placedSha256 });
      const ring = new Ring(of, points);
      for (const at of places) {
        assert.deepEqual(ring.order(`@${at}`), orderBySearch(of, points, at));
      }
    }),
  );
});

test('ring: the preference list is correct half-way between two points and beside it, with ties by name', () => {
  fc.assert(
    fc.property(members, replicas, (of, count) => {
      const points = new RingPoints({ replicas: count, sha256: placedSha256 });
      const ring = new Ring(of, points);
      const all = of.flatMap((m) => [...points.points(m.id, m.capacity)]);
      const sorted = all.sort((a, b) => (a < b ? -1 : 1));
      for (let i = 1; i < Math.min(sorted.length, 30); i++) {
        const middle = (sorted[i - 1]! + sorted[i]!) / 2n;
        for (const at of [middle - 1n, middle, middle + 1n]) {
          assert.deepEqual(ring.order(`@${at}`), orderBySearch(of, points, at));
        }
      }
    }),
    { numRuns: 40 },
  );
});

test('ring: a joining agent takes hosts only for itself and keeps the order of the others', () => {
  fc.assert(
    fc.property(members, replicas, (of, count) => {
      const points = new RingPoints({ replicas: count, sha256 });
      const joiner = of[0]!.id;
      const before = new Ring(of.slice(1), points);
      const after = new Ring(of, points);
      for (const host of hosts) {
        if (after.owner(host) !== before.owner(host)) assert.equal(after.owner(host), joiner);
        const rest = after.order(host).filter((id) => id !== joiner);
        assert.deepEqual(rest, before.order(host));
      }
    }),
  );
});

test('ring: a departure moves only the hosts of the departed agent, each to its next in the list', () => {
  fc.assert(
    fc.property(members, replicas, (of, count) => {
      const points = new RingPoints({ replicas: count, sha256 });
      const departed = of.at(-1)!.id;
      const before = new Ring(of, points);
      const after = new Ring(of.slice(0, -1), points);
      for (const host of hosts) {
        const [owner, next] = before.order(host, 2);
        assert.equal(after.owner(host), owner === departed ? next : owner);
      }
    }),
  );
});

test('ring: an agent with more capacity gains hosts and loses none', () => {
  fc.assert(
    fc.property(members, replicas, (of, count) => {
      const points = new RingPoints({ replicas: count, sha256 });
      const [first, ...rest] = of;
      const before = new Ring(of, points);
      const after = new Ring([{ id: first!.id, capacity: first!.capacity * 2 }, ...rest], points);
      for (const host of hosts) {
        const owner = after.owner(host);
        if (owner !== before.owner(host)) assert.equal(owner, first!.id);
      }
    }),
  );
});

test('ring: agents with equal views agree, whatever the order in which they learned of the members', () => {
  fc.assert(
    fc.property(members, replicas, (of, count) => {
      const options: RingOptions = { replicas: count, sha256 };
      const here = new Ring(of, options);
      const there = new Ring([...of].reverse(), new RingPoints(options));
      for (const host of hosts) assert.deepEqual(here.order(host), there.order(host));
      assert.deepEqual([...here.shares()], [...there.shares()]);
    }),
  );
});

/** The shares of the agents of a cluster, divided by the share that their capacity implies. */
function relativeShares(name: string, capacities: readonly number[]): number[] {
  const of = capacities.map((capacity, i) => ({ id: `${name}-${i}`, capacity }));
  const total = capacities.reduce((a, b) => a + b, 0);
  const shares = new Ring(of, { replicas: 200, sha256 }).shares();
  return of.map(({ id, capacity }) => (shares.get(id)! * total) / capacity);
}

test('ring: with 200 replicas the shares have a standard deviation below 7 %', () => {
  const relative = Array.from({ length: 40 }, (_, i) =>
    relativeShares(`cluster${i}`, Array(16).fill(1)),
  ).flat();
  const variance = relative.reduce((sum, share) => sum + (share - 1) ** 2, 0) / relative.length;
  // Half of the gap on either side of 200 points: sqrt(1 / 400), about 5 %.
  assert.ok(Math.sqrt(variance) < 0.07, `sigma ${Math.sqrt(variance)}`);
  assert.ok(Math.max(...relative) < 1.3 && Math.min(...relative) > 0.7);
});

test('ring: shares are proportional to capacity and add up to the circle', () => {
  const capacity = fc.constantFrom(0.5, 1, 2, 3);
  const cluster = fc.array(capacity, { minLength: 2, maxLength: 12 });
  fc.assert(
    fc.property(fc.string({ maxLength: 6 }), cluster, (name, capacities) => {
      const relative = relativeShares(name, capacities);
      // Six standard deviations for the smallest capacity, 100 points.
      for (const share of relative) assert.ok(Math.abs(share - 1) < 0.45, `share ${share}`);
      const total = capacities.reduce((a, b) => a + b, 0);
      const sum = relative.reduce((s, share, i) => s + (share * capacities[i]!) / total, 0);
      assert.ok(Math.abs(sum - 1) < 1e-9);
    }),
    { numRuns: 60 },
  );
});

test('ring: the reported shares equal the fractions of hosts owned', () => {
  const of = [0.5, 1, 1, 3].map((capacity, i) => ({ id: `a${i}`, capacity }));
  const ring = new Ring(of, { replicas: 20, sha256 });
  const met = new Map<string, number>();
  const hostCount = 40_000;
  for (let i = 0; i < hostCount; i++) {
    const owner = ring.owner(`www${i}.test`)!;
    met.set(owner, (met.get(owner) ?? 0) + 1 / hostCount);
  }
  // Four standard deviations of a binomial share of one half.
  for (const [id, share] of ring.shares()) assert.ok(Math.abs(met.get(id)! - share) < 0.01, id);
});

test('ring: agents of capacity 0 are last in all lists, and removing them moves nothing', () => {
  fc.assert(
    fc.property(members, replicas, drainedOnes, (of, count, which) => {
      const options = { replicas: count, sha256 };
      const agents = withDrainedOnes(of, which);
      const { mixed, placed } = agents;
      const [all, some] = [new Ring(mixed, options), new Ring(placed, options)];
      for (const host of hosts.slice(0, 20)) {
        const order = assertDrainedLast(host, [all, some], agents);
        const without = mixed.filter(({ id }) => id !== order.at(-1));
        assert.deepEqual(new Ring(without, options).order(host), order.slice(0, -1));
      }
      for (const { id, capacity } of mixed) {
        if (capacity === 0)
          assert.deepEqual([all.shares().get(id), all.pointCounts().get(id)], [0, 0]);
      }
    }),
  );
});
