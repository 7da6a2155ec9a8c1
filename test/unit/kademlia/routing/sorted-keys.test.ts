// Searches in many identifiers find exactly what reading each of them finds. The keys of the cases
// share prefixes, and some are equal.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seesFew, seesMany } from '../../../../agent/kademlia/neighbourhood/known-places.ts';
import { Neighbourhood } from '../../../../agent/kademlia/neighbourhood/neighbourhood.ts';
import {
  distanceTo,
  hasAny,
  isIn,
  type Prefix,
  placesIn,
  prefixOf,
} from '../../../../agent/kademlia/routing/contact.ts';
import { IdentifierIndex } from '../../../../agent/kademlia/routing/identifier-index.ts';
import { levelsBeside } from '../../../../agent/kademlia/routing/sorted-keys.ts';
import { commonPrefix, KEY_BITS, type Key } from '../../../../assignment/identifiers.ts';

const key = fc
  .tuple(fc.nat(4095), fc.constantFrom(0n, 1n, 1n << 80n))
  .map(([first, last]) => (BigInt(first) << BigInt(KEY_BITS - 12)) | last);
/** Few and many: they are searched in different ways. */
const keys = fc.oneof(
  fc.array(key, { minLength: 1, maxLength: 8 }),
  fc.array(key, { minLength: 32, maxLength: 80 }),
);
const region = fc.tuple(key, fc.nat(14)).map(([of, length]) => prefixOf(of, length));
const check = <T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => void) =>
  fc.assert(fc.property(arbitrary, holds));

const someIn = (all: readonly Key[], prefix: Prefix) => all.filter((one) => isIn(one, prefix));
const smallest = (all: readonly Key[]) => all.reduce((a, b) => (b < a ? b : a));

describe('a search in identifiers', () => {
  it('finds those in a region, at their places in the array', () => {
    check(fc.record({ keys, region }), (each) => {
      const inside = someIn(each.keys, each.region);
      assert.equal(hasAny(each.keys, each.region), inside.length > 0);
      const places = [...placesIn(each.keys, each.region)].sort((a, b) => a - b);
      assert.deepEqual(
        places.map((place) => each.keys[place]),
        inside,
      );
    });
  });

  it('finds the distance to the nearest', () => {
    check(fc.record({ keys, key }), (each) => {
      const distance = smallest(each.keys.map((one) => one ^ each.key));
      assert.equal(distanceTo(each.key, each.keys), distance);
    });
  });

  it('finds the levels at which they leave each path', () => {
    check(fc.record({ keys, others: keys }), ({ keys, others }) => {
      const levels = keys.map((one) => new Set(others.map((other) => commonPrefix(one, other))));
      assert.deepEqual(levelsBeside(keys, others), levels);
      assert.deepEqual(levelsBeside(keys, []), Array(keys.length).fill(new Set()));
    });
  });

  it('finds in the index of several agents what an order of all identifiers has', () => {
    const agents = fc.array(keys, { minLength: 1, maxLength: 5 });
    check(fc.record({ agents, region, removed: fc.nat(4) }), ({ agents, region, removed }) => {
      const index = new IdentifierIndex<number>();
      for (const [agent, each] of agents.entries()) index.add(`${agent}`, each, agent);
      if (agents[removed]) index.delete(`${removed}`, agents[removed]);
      const order = agents
        .flatMap((each, agent) => (agent === removed ? [] : each.map((one) => ({ one, agent }))))
        .sort((a, b) => (a.one === b.one ? a.agent - b.agent : a.one < b.one ? -1 : 1))
        .filter(({ one }) => isIn(one, region));
      assert.deepEqual(
        [...index.within(region)],
        order.map(({ agent }) => agent),
      );
    });
  });
});

describe('a view with many identifiers', () => {
  const member = fc.record({
    ...{ identifiers: keys, drained: fc.boolean(), joined: fc.boolean() },
    lengths: fc.array(fc.nat(10), { minLength: 160, maxLength: 160 }),
  });
  type Member = typeof member extends fc.Arbitrary<infer T> ? T : never;
  const view = fc.record({ mine: keys, members: fc.array(member, { maxLength: 6 }), host: key });

  const neighbourOf = (each: Member, id: string) => {
    const regions = each.identifiers.map((_, i) => each.lengths[i]!);
    const complete = each.identifiers.map((_, i) => each.lengths[80 + i]!);
    return { ...each, id, regions, complete };
  };

  function hoodOf(mine: readonly Key[], members: readonly Member[]) {
    const hood = new Neighbourhood(
      { id: 'me', identifiers: mine, drained: false },
      { size: 3, decides: 2 },
      { hasIn: () => false },
    );
    hood.join();
    for (const [i, each] of members.entries()) hood.put(neighbourOf(each, `a${i}`));
    for (const { to, region } of hood.questions()) {
      hood.answered(to, region, { empty: Array(region.length).fill(true) });
    }
    hood.settle();
    return hood;
  }

  it('has the smallest identifier of each region', () => {
    check(view, ({ mine, members }) => {
      const paths = hoodOf(mine, members).ledPaths();
      assert.equal(paths.length, mine.length);
      for (const { key, length, first } of paths) {
        const all = members.flatMap((each) => (each.drained ? [] : each.identifiers));
        const region = prefixOf(key, length);
        const taken = length === KEY_BITS ? [] : someIn(all, region);
        assert.equal(first, smallest([...taken, ...someIn(mine, region)]));
      }
    });
  });

  it('knows of each member whether it watches the path, as all its identifiers say', () => {
    check(view, ({ members, host }) => {
      for (const each of members) {
        const one = neighbourOf(each, 'a');
        const counts = one.joined && !one.drained;
        for (let level = 0; level < 12; level++) {
          const holds = (test: (place: number) => boolean) =>
            one.identifiers.some((other, i) => test(i) && commonPrefix(other, host) === level);
          const few = counts && holds((i) => one.complete[i]! <= level);
          assert.equal(seesFew(one, host, level), few);
          const many = counts && holds((i) => one.regions[i]! > level);
          assert.equal(seesMany(one, host, level), many);
        }
      }
    });
  });

  it('does not read all identifiers again for each path', () => {
    let reads = 0;
    const counted = (first: number) =>
      new Proxy(
        Array.from({ length: 1000 }, (_, i) => BigInt(first + 3 * i) << 140n),
        {
          get(of, name, self) {
            reads++;
            return Reflect.get(of, name, self);
          },
        },
      );
    const members = [1, 2].map((first) => ({
      ...{ identifiers: counted(first), drained: false, joined: true, lengths: [] },
    }));
    const mine = counted(0);
    const hood = hoodOf(mine, members);
    hood.places().of(5n);
    assert.equal(hood.places().parts.me.identifiers, mine, 'sorted once for all views');
    assert.equal(hood.ledPaths().length, 1000);
    assert.ok(reads < 100_000, `${reads} reads for 3,000 identifiers`);
  });
});
