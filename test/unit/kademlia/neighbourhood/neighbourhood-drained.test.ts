// Drained agents are members, and the others decide for hosts as if they were not there. This agent
// has an identifier of zeros.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KnownLists } from '../../../../agent/kademlia/neighbourhood/known-lists.ts';
import { Neighbourhood } from '../../../../agent/kademlia/neighbourhood/neighbourhood.ts';
import { hasAny, prefixOf } from '../../../../agent/kademlia/routing/contact.ts';
import { dutyOf } from '../../../../agent/kademlia/tree/duties.ts';
import { givenSha1 } from '../../assignment/sha1.ts';
import { contactOf, keyOfBits, namedIdentifiers } from '../contacts.ts';

const keysOf = (id: string) => namedIdentifiers(contactOf(id));
const ME = '0';

interface Stage {
  readonly me?: string;
  readonly size?: number;
  readonly members: readonly string[];
  readonly drained: readonly string[];
}

/** Joined, with members that know the whole space and have answered all questions. */
function hoodOf({ me = ME, size = 3, members, drained }: Stage): Neighbourhood {
  const hood = new Neighbourhood(
    { id: me, identifiers: keysOf(me), drained: drained.includes(me) },
    { size, decides: 2 },
    { hasIn: () => false },
  );
  for (const id of members) put(hood, id, drained.includes(id));
  hood.join();
  answer(hood, [...members, me], drained);
  return hood;
}

function put(hood: Neighbourhood, id: string, drained: boolean): void {
  const identifiers = keysOf(id);
  const lengths = identifiers.map(() => 0);
  hood.put({ id, identifiers, joined: true, drained, regions: lengths, complete: lengths });
}

function answer(hood: Neighbourhood, all: readonly string[], drained: readonly string[]): void {
  for (let round = 0; round < 5; round++) {
    for (const { to, region } of hood.questions()) {
      const empty = Array.from({ length: region.length }, (_, level) => {
        const beside = prefixOf(region.bits ^ keyOfBits(`${'0'.repeat(level)}1`), level + 1);
        return !all.some((id) => !drained.includes(id) && hasAny(keysOf(id), beside));
      });
      hood.answered(to, region, { empty });
    }
    hood.settle();
  }
}

function ownerOf(hood: Neighbourhood, bits: string): string {
  const place = hood.places().of(keyOfBits(bits));
  return place.kind === 'known' ? place.order.join() : place.kind;
}

describe('drained members', () => {
  it('do not count for the size of a region, and neither does this agent', () => {
    const members = ['001', '0001', '01', '1'];
    assert.deepEqual(hoodOf({ members, drained: [] }).regions(), [2]);
    assert.deepEqual(hoodOf({ members, drained: ['0001'] }).regions(), [1]);
    assert.deepEqual(hoodOf({ members, drained: ['0001', ME] }).regions(), [0]);
  });

  it('leave a subtree empty, whose hosts belong to the agents next to it', () => {
    const members = ['001', '0001', '01/1', '01/2', '1'];
    const hood = hoodOf({ members, drained: ['01/1', '01/2'] });
    assert.deepEqual(hood.regions(), [2]);
    assert.equal(ownerOf(hood, '01'), '0,0001,001');
    assert.deepEqual(hood.answerFor(prefixOf(0n, 2)).empty, [false, true]);
    assert.deepEqual([...hood.unwatched()], []);
  });

  it('leave one occupied when they are gone', () => {
    const members = ['001', '0001', '1/1', '1/2'];
    const hood = hoodOf({ members, drained: ['1/2'] });
    hood.remove('1/2');
    assert.deepEqual(hood.questions(), []);
    assert.equal(ownerOf(hood, '1'), '1/1,0,0001,001');
  });

  it('do not show that few agents are beside a path', () => {
    const members = ['001', '0001', '1/1', '1/2'];
    const hood = hoodOf({ members, drained: ['1/2'] });
    put(hood, '1/3', false);
    hood.put({ ...hood.get('1/1')!, regions: [1], complete: [1] });
    hood.put({ ...hood.get('1/3')!, regions: [1], complete: [1] });
    assert.equal(ownerOf(hood, '1'), 'elsewhere');
  });

  it('are counted by the leader of their subtree for completion, and lead none', () => {
    const members = ['001', '0001', '01', '1'];
    const hood = hoodOf({ members, drained: ['0001', '1'] });
    const [duty] = hood.ledPaths().map(dutyOf);
    assert.deepEqual(duty?.agents.toSorted(), [ME, '0001', '001', '01', '1']);
    assert.equal(duty?.parentKey, null);
    assert.deepEqual(hoodOf({ members, drained: [ME] }).ledPaths(), []);
    // The smallest identifier is that of a drained agent.
    const other = hoodOf({ me: '001', members: [ME, '01', '1'], drained: [ME] });
    assert.equal(other.ledPaths().map(dutyOf)[0]?.parentKey, null);
  });
});

describe('a preference list', () => {
  const members = ['001', '01', '1'];
  const listsOf = (drained: readonly string[]) => {
    const hood = hoodOf({ size: 5, members, drained });
    const placed = [ME, ...members].map((id) => {
      return { id, capacity: drained.includes(id) ? 0 : 1 };
    });
    return new KnownLists(hood.places(), placed, givenSha1({ h: keyOfBits('0') }));
  };

  it('has drained agents at its end', () => {
    assert.deepEqual(listsOf([]).order('h'), [ME, '001', '01', '1']);
    const lists = listsOf([ME, '01']);
    assert.deepEqual(lists.order('h'), ['001', '1', ME, '01']);
    assert.deepEqual([lists.owner('h'), lists.nearest('h')], ['001', '001']);
  });

  it('is empty if all agents are drained', () => {
    const lists = listsOf([ME, ...members]);
    assert.deepEqual([lists.order('h'), lists.nearest('h')], [[], undefined]);
  });
});
