// For which hosts an agent knows the first agents of the preference list. The agent has an identifier
// of zeros; the other agents are named by the bits of their identifiers.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Neighbour } from '../../../../agent/kademlia/neighbourhood/known-places.ts';
import {
  type KnownPath,
  type Placed,
  Places,
} from '../../../../agent/kademlia/neighbourhood/known-places.ts';
import { commonPrefix, KEY_BITS } from '../../../../assignment/identifiers.ts';
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
  return new Places({ me: { id: me, joined, drained: false }, paths, members, decides });
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

  it('of two paths to one region, the one that knows more decides', () => {
    const pathOf = (bits: string, ...beside: KnownPath['beside']): KnownPath => {
      return { key: keyOfBits(bits), length: 2, beside };
    };
    const [less, more] = [
      pathOf('1111', 'occupied', 'doubtful'),
      pathOf('1101', 'occupied', 'empty'),
    ];
    const me = { id: 'a1', joined: true, drained: false };
    for (const paths of [
      [less, more],
      [more, less],
    ]) {
      const places = new Places({ me, paths, members: [], decides: 1 });
      assert.deepEqual(places.of(keyOfBits('1000')), { kind: 'known', order: ['a1'] });
    }
  });

  it('a list names an agent once, at its nearest identifier', () => {
    const places = placesOf({ members: { '001+0001': [2, 2], '00001': [2] } });
    assert.deepEqual(of(places, '0001'), ['001+0001', '0', '00001']);
  });
});
