// The lemma of docs/OVERLAY.md on which all decisions rest, and what it means for an agent that
// knows all members of its regions: it decides as an agent that knows the whole cluster would.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { KnownLists } from '../../agent/kademlia/neighbourhood/known-lists.ts';
import { Neighbourhood } from '../../agent/kademlia/neighbourhood/neighbourhood.ts';
import { hasAny, prefixOf } from '../../agent/kademlia/routing/contact.ts';
import type { RingMember } from '../../assignment/assignment.ts';
import { commonPrefix, KEY_BITS, type Key, keyOf } from '../../assignment/identifiers.ts';
import { Kademlia } from '../../assignment/kademlia.ts';
import { KnownIdentifiers } from '../../assignment/known-identifiers.ts';
import { sha1 } from '../unit/assignment/sha1.ts';

interface Cluster {
  readonly agents: readonly (RingMember & { readonly keys: readonly Key[] })[];
  readonly placement: Kademlia;
  readonly hosts: readonly string[];
}

/** Agents with one identifier for each unit of capacity and of `ids`; some are drained. */
const clusters = fc
  .record({
    // Small clusters have uneven tries.
    count: fc.oneof(fc.integer({ min: 5, max: 20 }), fc.integer({ min: 5, max: 200 })),
    ids: fc.constantFrom(1, 2, 4),
    seed: fc.nat(),
    capacity: fc.constantFrom<readonly number[]>([1], [0.5, 1, 3], [1, 0], [0, 0, 2, 0, 1]),
  })
  .map(({ count, ids, seed, capacity }): Cluster => {
    const known = new KnownIdentifiers({ sha1, ids });
    const members = Array.from({ length: count }, (_, i) => {
      return { id: `${seed}-${i}`, capacity: capacity[i % capacity.length]! };
    });
    return {
      agents: members.map((member) => ({ ...member, keys: known.of(member) })),
      placement: new Kademlia(members, known),
      hosts: Array.from({ length: 15 }, (_, i) => `h${seed}-${i}`),
    };
  });

/** Length of the prefix of the smallest region around a key with `size` agents that take hosts. */
function regionLength({ agents }: Cluster, key: Key, size: number): number {
  const takers = agents.filter(({ capacity }) => capacity > 0);
  const depths = takers.map(({ keys }) => Math.max(...keys.map((one) => commonPrefix(one, key))));
  return depths.length < size ? 0 : depths.sort((a, b) => b - a)[size - 1]!;
}

/** By agent: the lengths of its regions. */
function regionsOf(cluster: Cluster, size: number): Map<string, number[]> {
  return new Map(
    cluster.agents.map(({ id, keys }) => [id, keys.map((key) => regionLength(cluster, key, size))]),
  );
}

test('neighbourhood: any two of the first m agents of a preference list watch each other', () => {
  fc.assert(
    fc.property(clusters, fc.integer({ min: 2, max: 9 }), (cluster, size) => {
      const regions = regionsOf(cluster, size);
      const keys = new Map(cluster.agents.map((one) => [one.id, one.keys]));
      const needs = (a: string, b: string) =>
        keys.get(a)!.some((key, i) => hasAny(keys.get(b)!, prefixOf(key, regions.get(a)![i]!)));
      for (const host of cluster.hosts) {
        const first = cluster.placement.order(host, size);
        for (const a of first) {
          for (const b of first) assert.ok(needs(a, b) || needs(b, a), `${a} and ${b} of ${host}`);
        }
      }
    }),
    { numRuns: 20 },
  );
});

/** A neighbourhood that knows each agent which it needs or which needs it, and its answers. */
function informed(cluster: Cluster, me: string, size: number, decides: number): Neighbourhood {
  const regions = regionsOf(cluster, size);
  const { keys, capacity } = cluster.agents.find(({ id }) => id === me)!;
  const others = cluster.agents.filter(({ id }) => id !== me);
  const hood = new Neighbourhood(
    { id: me, identifiers: keys, drained: capacity === 0 },
    { size, decides },
    { hasIn: (region) => others.some((one) => one.capacity > 0 && hasAny(one.keys, region)) },
  );
  const mine = regions.get(me)!;
  for (const { id, capacity, keys: theirs } of others) {
    const isNeeded = keys.some((key, i) => hasAny(theirs, prefixOf(key, mine[i]!)));
    const needsMe = theirs.some((key, i) => hasAny(keys, prefixOf(key, regions.get(id)![i]!)));
    if (!isNeeded && !needsMe) continue;
    hood.put({
      id,
      identifiers: theirs,
      joined: true,
      drained: capacity === 0,
      regions: regions.get(id)!,
      complete: regions.get(id)!,
    });
  }
  hood.join();
  for (let round = 0; hood.questions().length > 0; round++) {
    assert.ok(round < KEY_BITS, 'the same questions again and again');
    for (const { to, region } of hood.questions()) {
      const empty = Array.from({ length: region.length }, (_, level) => {
        const beside = prefixOf(region.bits ^ (1n << BigInt(KEY_BITS - 1 - level)), level + 1);
        return !cluster.agents.some((one) => one.capacity > 0 && hasAny(one.keys, beside));
      });
      hood.answered(to, region, { empty });
    }
    hood.settle();
  }
  return hood;
}

test('neighbourhood: an agent that decides has the list of an agent that knows all', () => {
  const sizes = fc.record({ backups: fc.integer({ min: 0, max: 3 }), spare: fc.nat(4) });
  fc.assert(
    fc.property(clusters, sizes, fc.nat(), (cluster, { backups, spare }, at) => {
      const decides = backups + 2;
      const size = decides + 1 + spare;
      const me = cluster.agents[at % cluster.agents.length]!.id;
      const places = informed(cluster, me, size, decides).places();
      const lists = new KnownLists(places, cluster.agents, sha1);
      for (const host of cluster.hosts) {
        const place = places.of(keyOf(host, sha1));
        const isFirst = cluster.placement.order(host, decides).includes(me);
        if (isFirst) assert.equal(place.kind, 'known', `${me} is one of the first of ${host}`);
        if (place.kind !== 'known') continue;
        const count = Math.min(decides, cluster.agents.length);
        assert.deepEqual(lists.order(host, count), cluster.placement.order(host, count));
      }
    }),
    { numRuns: 60 },
  );
});
