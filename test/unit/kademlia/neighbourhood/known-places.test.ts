// For which hosts an agent knows the first agents of the preference list. The agent has an identifier
// of zeros; the other agents are named by the bits of their identifiers.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type Beside,
  type KnownPath,
  type Neighbour,
  type Place,
  type Placed,
  Places,
  type PlacesParts,
} from '../../../../agent/kademlia/neighbourhood/known-places.ts';
import { bitAt, commonPrefix, KEY_BITS, type Key } from '../../../../assignment/identifiers.ts';
import { contactOf, keyOfBits, namedIdentifiers } from '../contacts.ts';

interface Stage {
  readonly me?: string;
  readonly joined?: boolean;
  readonly lengths?: readonly number[];
  readonly beside?: readonly KnownPath['beside'][];
  readonly decides?: number;
  /** The lengths of the regions of each member. */
  readonly members?: Readonly<Record<string, readonly number[]>>;
  readonly joining?: readonly string[];
  /** Members that do not know their regions completely yet. */
  readonly widening?: readonly string[];
}

/** By default the region `00` is known, and the subtrees 01 and 1 are occupied. */
function placesOf({
  me = '0',
  joined = true,
  decides = 1,
  joining = [],
  widening = [],
  ...stage
}: Stage): Places {
  const keys = namedIdentifiers(contactOf(me));
  const placed = ([id, regions]: [string, readonly number[]]): Placed => {
    const identifiers = namedIdentifiers(contactOf(id));
    const joined = !joining.includes(id);
    const complete = regions.map((length) => (widening.includes(id) ? KEY_BITS : length));
    const state = { joined, drained: false };
    const neighbour: Neighbour = { id, identifiers, regions, complete, ...state };
    const levels = keys.map((key) => new Set(identifiers.map((one) => commonPrefix(one, key))));
    return { neighbour, levels, depths: levels.map((of) => Math.max(...of)) };
  };
  const paths = keys.map((key, i): KnownPath => {
    const length = stage.lengths?.[i] ?? 2;
    return { key, length, beside: stage.beside?.[i] ?? Array(length).fill('occupied') };
  });
  const members = Object.entries(stage.members ?? { '001': [2] }).map(placed);
  const self = { id: me, identifiers: keys, joined, drained: false };
  return new Places({ me: self, paths, members, decides });
}

const of = (places: Places, bits: string) => {
  const place = places.of(keyOfBits(bits));
  return place.kind === 'known' ? place.order : place.kind;
};

it('the order of the known agents has those beside the path, although others may be nearer', () => {
  const places = placesOf({ members: { '001': [2], '11': [160] }, joining: ['11'] });
  assert.equal(of(places, '111'), 'elsewhere');
  assert.deepEqual(places.orderOfKnown(keyOfBits('111')), ['11', '001', '0']);
});

describe('a host in the region', () => {
  it('has a list of all its agents, the nearest first', () => {
    const places = placesOf({ members: { '001': [2], '0001': [2], '1': [0] } });
    assert.deepEqual(of(places, '0011'), ['001', '0001', '0']);
    assert.deepEqual(of(places, '0000'), ['0', '0001', '001']);
  });

  it('is undecided with fewer joined members than decide', () => {
    const members = { '001': [2], '0001': [2] };
    assert.deepEqual(of(placesOf({ members, decides: 3 }), '0'), ['0', '0001', '001']);
    assert.equal(of(placesOf({ members, decides: 4 }), '0'), 'unsure');
    assert.equal(of(placesOf({ members, decides: 3, joining: ['001'] }), '0'), 'unsure');
    assert.equal(of(placesOf({ members, decides: 3, joined: false }), '0'), 'unsure');
  });

  it('is decided with any number of members if the region is the whole space', () => {
    const places = placesOf({ lengths: [0], members: { '1': [0] }, decides: 4 });
    assert.deepEqual(of(places, '11'), ['1', '0']);
  });

  it('is undecided while the region is not known', () => {
    assert.equal(of(placesOf({ lengths: [KEY_BITS] }), '0'), 'unsure');
  });
});

describe('a host beside the path', () => {
  it('is elsewhere if its subtree is occupied', () => {
    assert.equal(of(placesOf({}), '01'), 'elsewhere');
    assert.equal(of(placesOf({}), '1'), 'elsewhere');
  });

  it('belongs to the region if each nearer subtree is empty', () => {
    const beside = [['empty', 'occupied'] as const];
    assert.deepEqual(of(placesOf({ beside }), '1'), ['0', '001']);
    // The subtree 01 is nearer to 11 than the region 00 is.
    assert.equal(of(placesOf({ beside }), '11'), 'elsewhere');
    assert.deepEqual(of(placesOf({ beside: [['empty', 'empty']] }), '11'), ['0', '001']);
  });

  it('is undecided if a nearer subtree is doubtful, and elsewhere if one is occupied too', () => {
    assert.equal(of(placesOf({ beside: [['doubtful', 'occupied']] }), '1'), 'unsure');
    assert.equal(of(placesOf({ beside: [['doubtful', 'occupied']] }), '11'), 'elsewhere');
    assert.equal(of(placesOf({ beside: [['empty', 'doubtful']] }), '11'), 'unsure');
  });

  it('has the few agents there first, if one of them watches the larger subtree', () => {
    const members = (length: number) => ({ '001': [2], '1': [length], '11': [length] });
    assert.deepEqual(of(placesOf({ members: members(0) }), '101'), ['1', '11', '001', '0']);
    assert.equal(of(placesOf({ members: members(1) }), '101'), 'elsewhere');
    // After them come the agents with 01, which are not known.
    assert.equal(of(placesOf({ members: members(0) }), '11'), 'elsewhere');
  });

  it('has no few agents there if one of them knows many there', () => {
    // The heartbeat is lost with which 1 would say so, too.
    const members = { '001': [2], '1': [0], '11': [1] };
    assert.equal(of(placesOf({ members }), '101'), 'elsewhere');
    assert.deepEqual(of(placesOf({ members, joining: ['11'] }), '101'), ['1', '11', '001', '0']);
  });

  it('does not depend on few agents that have not joined, or watch it with another identifier', () => {
    const members = { '001': [2], '1': [0] };
    assert.deepEqual(of(placesOf({ members }), '1'), ['1', '0', '001']);
    assert.equal(of(placesOf({ members, joining: ['1'] }), '1'), 'elsewhere');
    assert.equal(of(placesOf({ members: { '001': [2], '1+01': [1, 0] } }), '1'), 'elsewhere');
  });

  it('does not depend on a few agent that has not found all agents of its region yet', () => {
    const members = { '001': [2], '1': [0] };
    assert.equal(of(placesOf({ members, widening: ['1'] }), '1'), 'elsewhere');
    const two = { ...members, '11': [0] };
    assert.deepEqual(of(placesOf({ members: two, widening: ['1'] }), '10'), [
      '1',
      '11',
      '0',
      '001',
    ]);
  });

  it('has few agents there if this agent itself is there and knows the larger subtree', () => {
    const stage = { me: '0+1', members: { '001': [2], '11': [2] } };
    const places = (length: number) => placesOf({ ...stage, lengths: [2, length] });
    assert.deepEqual(of(places(0), '011'), ['001', '0+1', '11']);
    assert.deepEqual(
      places(0)
        .fewBeside(0, 0)
        ?.map(({ id }) => id),
      ['11'],
    );
    assert.equal(places(1).fewBeside(0, 0), null);
  });

  it('counts the few agents as members that decide', () => {
    const members = { '001': [2], '1': [0] };
    assert.deepEqual(of(placesOf({ members, decides: 3 }), '1'), ['1', '0', '001']);
    assert.equal(of(placesOf({ members, decides: 3 }), '0'), 'unsure');
  });

  it('names all agents at that level, or none', () => {
    const places = placesOf({ members: { '1': [0], '11': [0], '01': [2] } });
    assert.deepEqual(
      places.fewBeside(0, 0)?.map(({ id }) => id),
      ['1', '11'],
    );
    assert.equal(places.fewBeside(0, 1), null);
    assert.equal(places.fewBeside(0, 2), null);
  });
});

describe('several identifiers', () => {
  it('a host is decided by the path whose region it is in', () => {
    const places = placesOf({ me: '0+11', lengths: [2, 2], members: { '001': [2], '111': [2] } });
    assert.deepEqual(of(places, '000'), ['0+11', '001']);
    assert.deepEqual(of(places, '110'), ['0+11', '111']);
    assert.equal(of(places, '10'), 'elsewhere');
  });

  it('a doubt of one path does not hide what another knows', () => {
    const stage = { me: '0+11', members: { '001': [2], '111': [2] } };
    const places = placesOf({ ...stage, lengths: [KEY_BITS, 2] });
    assert.deepEqual(of(places, '11'), ['0+11', '111']);
    assert.equal(of(places, '0'), 'unsure');
  });

  it('what one path of a region knows to be empty decides, although another path doubts it', () => {
    const beside = [['occupied', 'doubtful'] as const, ['occupied', 'empty'] as const];
    const places = placesOf({ me: '1111+1101', beside, members: { '111': [2] } });
    assert.deepEqual(of(places, '1000'), ['1111+1101', '111']);
  });

  it('a list names an agent once, at its nearest identifier', () => {
    const places = placesOf({ members: { '001+0001': [2, 2], '00001': [2] } });
    assert.deepEqual(of(places, '0001'), ['001+0001', '0', '00001']);
  });
});

describe('a view of few or many paths', () => {
  const BITS = 7;
  const key = fc.nat(2 ** BITS - 1).map((bits) => BigInt(bits) << BigInt(KEY_BITS - BITS));
  const keys = (minLength: number, maxLength: number) =>
    fc.uniqueArray(key, { minLength, maxLength });
  const length = fc.constantFrom(0, 1, 2, 2, 3, KEY_BITS);
  const levels = <T>(each: fc.Arbitrary<T>, size: number) =>
    fc.array(each, { minLength: size, maxLength: size });
  const beside = fc.constantFrom<Beside>('empty', 'occupied', 'doubtful');

  const pathOf = (key: Key) =>
    fc.record({ length, beside: levels(beside, 3) }).map(({ length, beside }): KnownPath => {
      return { key, length, beside: length === KEY_BITS ? [] : beside.slice(0, length) };
    });
  const memberOf = keys(1, 3).chain((identifiers) => {
    const lengths = levels(length, identifiers.length);
    const state = { joined: fc.boolean(), drained: fc.boolean() };
    return fc.record({ ...state, regions: lengths, complete: lengths }).map((one) => {
      return { ...one, identifiers };
    });
  });
  const parts = fc.oneof(keys(2, 8), keys(32, 40)).chain((mine) =>
    fc
      .record({
        paths: fc.tuple(...mine.map(pathOf)),
        members: fc.array(memberOf, { maxLength: 4 }),
        decides: fc.integer({ min: 1, max: 3 }),
      })
      .map(({ paths, members, decides }): PlacesParts => {
        const me = { id: 'me', identifiers: mine, joined: true, drained: false };
        const placed = members.map((member, i): Placed => {
          const levels = mine.map((own) => {
            return new Set(member.identifiers.map((one) => commonPrefix(one, own)));
          });
          const depths = levels.map((of) => Math.max(...of));
          return { neighbour: { ...member, id: `a${i}` }, levels, depths };
        });
        return { me, paths, members: placed, decides };
      }),
  );

  const counts = ({ joined, drained }: Pick<Neighbour, 'joined' | 'drained'>) => joined && !drained;

  /** All others beside the path, of which every identifier is read. */
  function fewOf({ paths, members }: PlacesParts, key: Key, level: number) {
    const isBeside = (one: Key) => commonPrefix(one, key) === level;
    const isHere = paths.some((other) => other.length <= level && isBeside(other.key));
    const all = members.map(({ neighbour }) => neighbour);
    const there = all.filter(({ identifiers }) => identifiers.some(isBeside));
    const sees = (holds: (one: Neighbour, i: number) => boolean) =>
      there.some(
        (one) => counts(one) && one.identifiers.some((k, i) => isBeside(k) && holds(one, i)),
      );
    if (isHere) return there;
    if (sees(({ regions }, i) => regions[i]! > level)) return null;
    return sees(({ complete }, i) => complete[i]! <= level) ? there : null;
  }

  /** The agents on the way into the path's region, or why the way does not lead there. */
  function wayTo(parts: PlacesParts, { key, length, beside }: KnownPath, host: Key) {
    if (length === KEY_BITS) return 'unsure';
    const before: Neighbour[] = [];
    let isSure = true;
    for (let level = commonPrefix(key, host); level < length; level++) {
      if (bitAt(key, level) === bitAt(host, level) || beside[level] === 'empty') continue;
      const few = fewOf(parts, key, level);
      if (few) before.push(...few);
      else if (beside[level] === 'occupied') return 'elsewhere';
      else isSure = false;
    }
    return isSure ? before : 'unsure';
  }

  /** The place of a host, for which every path is followed. */
  function placeOf(parts: PlacesParts, host: Key): Place {
    const { me, paths, members, decides } = parts;
    const ways = paths.map((path) => wayTo(parts, path, host));
    const index = ways.findIndex((way) => typeof way !== 'string');
    if (index < 0) return { kind: ways.includes('unsure') ? 'unsure' : 'elsewhere' };
    const { key, length } = paths[index]!;
    const inside = members
      .map(({ neighbour }) => neighbour)
      .filter(({ identifiers }) => identifiers.some((one) => commonPrefix(one, key) >= length));
    const all = [me, ...new Set([...(ways[index] as Neighbour[]), ...inside])];
    if (length > 0 && all.filter(counts).length < decides) return { kind: 'unsure' };
    const order = all
      .map(({ id, identifiers }) => {
        const [distance] = identifiers.map((one) => one ^ host).sort((a, b) => (a < b ? -1 : 1));
        return { id, distance: distance! };
      })
      .sort((a, b) => (a.distance < b.distance ? -1 : 1));
    return { kind: 'known', order: order.map(({ id }) => id) };
  }

  it('has the places that follow from each of the paths', () => {
    const property = fc.property(parts, fc.array(key, { minLength: 8 }), (parts, hosts) => {
      const places = new Places(parts);
      for (const host of hosts) assert.deepEqual(places.of(host), placeOf(parts, host));
    });
    fc.assert(property, { numRuns: 300 });
  });
});
