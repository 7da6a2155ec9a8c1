import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RingMember } from '../../assignment/assignment.ts';
import { bitAt, type KademliaOptions, type Key, keyOf } from '../../assignment/identifiers.ts';
import { Kademlia } from '../../assignment/kademlia.ts';
import { KnownIdentifiers } from '../../assignment/known-identifiers.ts';
import { givenSha1, maskedSha1, numberOf, sha1 } from '../unit/assignment/sha1.ts';
import { assertDrainedLast, drainedOnes, withDrainedOnes } from './drained-lists.ts';

const hosts = Array.from({ length: 60 }, (_, i) => `h${i}.example.org`);

const member = fc.record({
  id: fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }),
  capacity: fc.constantFrom(0.01, 0.3, 0.5, 1, 2, 3),
});
const members = fc.uniqueArray(member, { minLength: 2, maxLength: 9, selector: (m) => m.id });

/** Depths on both sides of the boundaries between machine words, and at both ends. */
const sparseBits = [159n, 128n, 127n, 96n, 95n, 64n, 63n, 32n, 31n, 0n];
const sparse = sparseBits.reduce((mask, bit) => mask | (1n << bit), 0n);

/** With few bits, agents share identifiers and prefixes; with all of them they do not. */
const mask = fc.constantFrom(2n ** 160n - 1n, 15n << 156n, 31n, sparse);
const options = fc
  .record({ mask, ids: fc.constantFrom(1, 2, 8) })
  .map(({ mask: bits, ids }): KademliaOptions => ({ sha1: maskedSha1(bits), ids }));

/** Computes the preference list of a host from the distances of all identifiers of all agents. */
function orderBySearch(of: readonly RingMember[], { sha1: hash, ids }: KademliaOptions) {
  const agents = of.map(({ id, capacity }) => {
    const count = Math.max(1, Math.round(capacity * ids));
    return { id, keys: Array.from({ length: count }, (_, i) => numberOf(hash(`${id}/${i}`))) };
  });
  return (host: string): string[] => {
    const key = numberOf(hash(host));
    const distances = agents.map(({ id, keys }) => {
      return { id, distance: keys.map((each) => each ^ key).reduce((a, b) => (a < b ? a : b)) };
    });
    distances.sort((a, b) => {
      if (a.distance !== b.distance) return a.distance < b.distance ? -1 : 1;
      return a.id < b.id ? -1 : 1;
    });
    return distances.map(({ id }) => id);
  };
}

test('kademlia: the list is sorted by the XOR of the nearest identifier, then by name', () => {
  fc.assert(
    fc.property(members, options, (of, given) => {
      const kademlia = new Kademlia(of, given);
      const search = orderBySearch(of, given);
      for (const host of hosts) assert.deepEqual(kademlia.order(host), search(host));
    }),
  );
});

test('kademlia: a limited list is the beginning of the full one', () => {
  const counts = fc.array(fc.integer({ min: -1, max: 11 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(members, options, counts, (of, given, asked) => {
      const kademlia = new Kademlia(of, given);
      const search = orderBySearch(of, given);
      for (const host of hosts) {
        for (const count of asked) {
          assert.deepEqual(kademlia.order(host, count), search(host).slice(0, Math.max(0, count)));
        }
        assert.equal(kademlia.owner(host), search(host)[0]);
      }
    }),
  );
});

test('kademlia: an agent that joins or departs does not change the order of the others', () => {
  fc.assert(
    fc.property(members, options, fc.nat(), (of, given, at) => {
      const known = new KnownIdentifiers(given);
      const moved = of[at % of.length]!.id;
      const larger = new Kademlia(of, known);
      const smaller = new Kademlia(
        of.filter(({ id }) => id !== moved),
        known,
      );
      for (const host of hosts) {
        const rest = larger.order(host).filter((id) => id !== moved);
        assert.deepEqual(smaller.order(host), rest);
        const [owner, next] = larger.order(host, 2);
        assert.equal(smaller.owner(host), owner === moved ? next : owner);
      }
    }),
  );
});

test('kademlia: with more capacity an agent moves forward, and the others keep their order', () => {
  fc.assert(
    fc.property(members, options, (of, given) => {
      const known = new KnownIdentifiers(given);
      const [{ id, capacity }, ...rest] = of as [RingMember, ...RingMember[]];
      const before = new Kademlia(of, known);
      const after = new Kademlia([{ id, capacity: capacity * 2 }, ...rest], known);
      for (const host of hosts) {
        const [old, now] = [before.order(host), after.order(host)];
        assert.ok(now.indexOf(id) <= old.indexOf(id));
        assert.deepEqual(
          now.filter((other) => other !== id),
          old.filter((other) => other !== id),
        );
      }
      assert.ok(after.shares().get(id)! >= before.shares().get(id)!);
    }),
  );
});

test('kademlia: the bits of a key lead through the trie to its owner', () => {
  fc.assert(
    fc.property(members, options, (of, given) => {
      const kademlia = new Kademlia(of, given);
      const nodes = [...kademlia.trie()];
      /** The index after the subtree that begins at `at`. */
      const end = (at: number): number => (nodes[at]!.kind === 'fork' ? end(end(at + 1)) : at + 1);
      for (const host of hosts) {
        let at = 0;
        let above = -1;
        for (let node = nodes[0]!; node.kind === 'fork'; node = nodes[at]!) {
          assert.ok(node.depth > above);
          above = node.depth;
          at = bitAt(keyOf(host, given.sha1), node.depth) === 0 ? at + 1 : end(at + 1);
        }
        assert.deepEqual(nodes[at], { kind: 'leaf', id: kademlia.owner(host) });
      }
      const few = [...kademlia.trie(2)];
      assert.ok(few.length <= 7);
      const isLeftOut = few.some(({ kind }) => kind === 'deeper');
      assert.equal(isLeftOut, few.length < nodes.length);
    }),
  );
});

test('kademlia: agents with equal views agree, in any order of the members', () => {
  fc.assert(
    fc.property(members, options, (of, given) => {
      const here = new Kademlia(of, given);
      const there = new Kademlia([...of].reverse(), new KnownIdentifiers(given));
      for (const host of hosts) assert.deepEqual(here.order(host), there.order(host));
      assert.deepEqual([...here.shares()], [...there.shares()]);
    }),
  );
});

/** The key whose sparse bits are the bits of `n`; its other bits are random. */
function sparseKey(n: number): Key {
  const others = numberOf(sha1(`others of ${n}`)) & ~sparse;
  return sparseBits.reduce((key, bit, i) => key | (BigInt((n >> i) & 1) << bit), others);
}

test('kademlia: the reported shares equal the fractions of all keys, and add up to 1', () => {
  // All identifiers have zeros outside of the sparse bits, so these bits never decide an order. The
  // keys below have each value of the sparse bits once: their owners are the shares without error.
  const keyCount = 2 ** sparseBits.length;
  const keys = Array.from({ length: keyCount }, (_, n) => [`@${n}`, sparseKey(n)] as const);
  const [agentsSha1, hostsSha1] = [maskedSha1(sparse), givenSha1(Object.fromEntries(keys))];
  const hash = (text: string) => (/^@\d+$/.test(text) ? hostsSha1(text) : agentsSha1(text));
  fc.assert(
    fc.property(members, fc.constantFrom(1, 3, 8), (of, ids) => {
      const kademlia = new Kademlia(of, { sha1: hash, ids });
      const met = new Map(of.map(({ id }) => [id, 0]));
      for (const [host] of keys) {
        const owner = kademlia.owner(host)!;
        met.set(owner, met.get(owner)! + 1 / keyCount);
      }
      const shares = kademlia.shares();
      assert.deepEqual(shares, met);
      assert.equal(
        [...shares.values()].reduce((a, b) => a + b),
        1,
      );
    }),
    { numRuns: 40 },
  );
});

/**
 * Hoeffding: the mean of `count` independent values between 0 and 1 is farther than this from its
 * expectation with a probability below 10^-12.
 */
function deviationMax(count: number): number {
  return Math.sqrt(Math.log(2e12) / (2 * count));
}

test('kademlia: hosts are divided among the agents as the shares say', () => {
  const of = [0.5, 1, 1, 3].map((capacity, i) => ({ id: `a${i}`, capacity }));
  const kademlia = new Kademlia(of, { sha1, ids: 8 });
  const hostCount = 40_000;
  const met = new Map<string, number>();
  for (let i = 0; i < hostCount; i++) {
    const owner = kademlia.owner(`www${i}.test`)!;
    met.set(owner, (met.get(owner) ?? 0) + 1 / hostCount);
  }
  for (const [id, share] of kademlia.shares()) {
    assert.ok(Math.abs(met.get(id)! - share) < deviationMax(hostCount), `${id}: ${share}`);
  }
});

test('kademlia: over many clusters the mean share of an agent follows its capacity', () => {
  const [capacities, clusterCount] = [[0.5, 1, 1.5, 5], 4000];
  const means = capacities.map(() => 0);
  for (let cluster = 0; cluster < clusterCount; cluster++) {
    const of = capacities.map((capacity, i) => ({ id: `c${cluster}-${i}`, capacity }));
    const shares = new Kademlia(of, { sha1, ids: 2 }).shares();
    of.forEach(({ id }, i) => {
      means[i]! += shares.get(id)! / clusterCount;
    });
  }
  // By symmetry each of the 16 identifiers has the same expected share.
  const expected = [1, 2, 3, 10].map((identifiers) => identifiers / 16);
  means.forEach((mean, i) => {
    const deviation = Math.abs(mean - expected[i]!);
    assert.ok(deviation < deviationMax(clusterCount), `${capacities[i]}: ${mean}`);
  });
});

test('kademlia: drained agents are last in all lists, and removing them moves nothing', () => {
  fc.assert(
    fc.property(members, options, drainedOnes, (of, given, which) => {
      const agents = withDrainedOnes(of, which);
      const { mixed, placed } = agents;
      const [all, some] = [new Kademlia(mixed, given), new Kademlia(placed, given)];
      for (const host of hosts.slice(0, 20)) {
        assertDrainedLast(host, [all, some], agents);
      }
      for (const { id, capacity } of mixed) {
        if (capacity === 0) assert.equal(all.shares().get(id), 0);
      }
    }),
  );
});
