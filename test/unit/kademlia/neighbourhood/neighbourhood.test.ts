// The conditions under which a region counts as known, and the statements of an agent about the
// subtrees beside its paths.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Neighbour } from '../../../../agent/kademlia/neighbourhood/known-places.ts';
import { Neighbourhood } from '../../../../agent/kademlia/neighbourhood/neighbourhood.ts';
import { hasAny, type Prefix, prefixOf } from '../../../../agent/kademlia/routing/contact.ts';
import { KEY_BITS } from '../../../../assignment/identifiers.ts';
import { contactOf, keyOfBits, namedIdentifiers } from '../contacts.ts';

const keysOf = (id: string) => namedIdentifiers(contactOf(id));
const regionOf = (bits: string): Prefix => prefixOf(keyOfBits(bits), bits.length);

function neighbour(id: string, more: Partial<Neighbour> = {}): Neighbour {
  const identifiers = keysOf(id);
  const { regions = identifiers.map(() => 0) } = more;
  return { id, identifiers, joined: true, drained: false, regions, complete: regions, ...more };
}

/** An agent with an identifier of zeros. */
function hoodOf({ id = '0', size = 2, decides = 2, contacts = [] as string[] } = {}) {
  const known = new Set(contacts);
  const hood = new Neighbourhood(
    { id, identifiers: keysOf(id), drained: false },
    { size, decides },
    { hasIn: (region) => [...known].some((one) => hasAny(keysOf(one), region)) },
  );
  const put = (...ids: string[]) => {
    for (const one of ids) hood.put(neighbour(one));
  };
  /** The members answer all open questions. */
  const answer = (ids: readonly string[], empty = true) => {
    for (const { to, region } of hood.questions()) {
      if (!ids.includes(to)) continue;
      hood.answered(to, region, { empty: Array.from({ length: region.length }, () => empty) });
    }
    return hood.settle();
  };
  const place = (bits: string) => hood.places().of(keyOfBits(bits));
  return { hood, put, answer, place, contacts: known };
}

/** The lengths of the regions that are completely known. */
const lengthsOf = (hood: Neighbourhood) => hood.ledPaths().map(({ length }) => length);

/** An agent that has joined with `size` 4, whose region is `00` with three other members. */
function joined() {
  const stage = hoodOf({ size: 4, contacts: ['1', '01'] });
  stage.put('001');
  stage.answer(['001']);
  stage.hood.join();
  for (const id of ['0001', '00001']) stage.put(id);
  return stage;
}

describe('a region is complete', () => {
  it('for the first agent when it joins alone: it is the whole space', () => {
    const { hood, place } = hoodOf();
    assert.deepEqual(hood.regions(), [0]);
    assert.equal(place('1').kind, 'unsure');
    hood.join();
    assert.equal(hood.isComplete, true);
    assert.deepEqual(place('1'), { kind: 'known', order: ['0'] });
  });

  it('not before each of its members has answered', () => {
    const { hood, put, answer } = hoodOf();
    put('1', '01');
    assert.deepEqual(
      hood.questions().map(({ to }) => to),
      ['1', '01'],
    );
    assert.equal(answer(['1']), false);
    assert.equal(hood.isComplete, false);
    assert.deepEqual(
      hood.questions().map(({ to }) => to),
      ['01'],
    );
    assert.equal(answer(['01']), true);
    assert.equal(hood.isComplete, true);
    assert.deepEqual(hood.questions(), []);
  });

  it('not while an agent that was named in it neither answers nor expires', () => {
    for (const ends of ['answers', 'expires'] as const) {
      const { hood, put, answer } = hoodOf();
      put('1');
      assert.equal(hood.named('01', keysOf('01')), true);
      assert.equal(answer(['1']), false);
      if (ends === 'answers') put('01');
      else hood.expire('01');
      assert.equal(answer(['01']), true, ends);
      assert.equal(hood.isComplete, true, ends);
    }
  });

  it('although an agent was named outside of it', () => {
    const { hood, put, answer } = hoodOf();
    put('001', '01', '1');
    hood.put(neighbour('0', { id: 'other', identifiers: [keyOfBits('00001')] }));
    assert.equal(hood.named('11', keysOf('11')), false);
    assert.equal(answer(['001', '01', '1', 'other']), true);
  });

  it('not because of an answer about another region, of a stranger, or of another length', () => {
    const { hood, put } = hoodOf();
    put('01');
    hood.answered('01', regionOf('1'), { empty: [true] });
    hood.answered('01', regionOf('0'), { empty: [true] });
    hood.answered('1', regionOf(''), { empty: [] });
    assert.equal(hood.settle(), false);
    hood.answered('01', regionOf(''), { empty: [] });
    assert.equal(hood.settle(), true);
  });

  it('not because of an answer that came before its sender was a member, or before it was away', () => {
    const { hood, put } = hoodOf();
    put('01');
    hood.answered('1', regionOf(''), { empty: [] });
    hood.answered('01', regionOf(''), { empty: [] });
    put('1');
    hood.remove('01');
    put('01');
    const asked = hood.questions().map(({ to }) => to);
    assert.deepEqual(asked, ['1', '01']);
  });

  it('not because of answers about a region that was too small', () => {
    const { hood, put, answer } = hoodOf({ size: 3 });
    put('01', '001', '1');
    assert.deepEqual(hood.regions(), [0]);
    put('0001');
    assert.deepEqual(hood.regions(), [1]);
    answer(['01', '001']);
    hood.remove('0001');
    assert.deepEqual(hood.regions(), [0]);
    assert.equal(answer(['1']), false);
    assert.equal(answer(['1', '01', '001']), true);
  });

  it('not because a member that answered was removed, and the others have not', () => {
    const { hood, put, answer } = hoodOf();
    put('1', '01');
    answer(['1']);
    hood.remove('1');
    assert.equal(hood.settle(), false);
    assert.equal(answer(['01']), true);
  });

  it('again only with new answers, after it has become wider', () => {
    const { hood, answer } = joined();
    assert.deepEqual(hood.regions(), [2]);
    hood.remove('00001');
    assert.deepEqual(hood.regions(), [0]);
    hood.put(neighbour('1'));
    assert.deepEqual([hood.settle(), hood.isComplete], [false, false]);
    assert.equal(answer(['1', '001']), false);
    assert.equal(answer(['0001']), true);
    assert.equal(hood.isComplete, true);
  });

  it('and decides while the wider one is being learned, if enough members are left', () => {
    const { hood, answer, place } = joined();
    for (const id of ['0001', '00001']) hood.remove(id);
    assert.deepEqual(hood.regions(), [0]);
    assert.deepEqual(place('0'), { kind: 'known', order: ['0', '001'] });
    hood.remove('001');
    assert.equal(place('0').kind, 'unsure');
    hood.put(neighbour('1'));
    assert.equal(answer(['1']), true);
    assert.deepEqual(place('0'), { kind: 'known', order: ['0', '1'] });
  });

  it('not without members while others are known in it, so that nobody decides alone by mistake', () => {
    const { hood, contacts, place } = joined();
    for (const id of ['001', '0001', '00001']) hood.remove(id);
    assert.deepEqual(
      hood.learning().map(({ length }) => length),
      [0],
    );
    assert.equal(hood.settle(), false);
    assert.notEqual(place('1').kind, 'known');
    contacts.clear();
    assert.equal(hood.settle(), true);
    assert.deepEqual(place('1'), { kind: 'known', order: ['0'] });
    assert.deepEqual(hood.learning(), []);
  });

  it('never before the join of an agent that knows nobody', () => {
    const { hood } = hoodOf();
    assert.equal(hood.settle(), false);
    assert.equal(hood.places().of(0n).kind, 'unsure');
  });
});

describe('the size of a region', () => {
  it('counts joined members only', () => {
    const { hood, put } = hoodOf({ size: 3 });
    hood.join();
    for (const id of ['001', '0001', '00001', '000001']) hood.put(neighbour(id, { joined: false }));
    assert.deepEqual(hood.regions(), [0]);
    put('0001');
    assert.deepEqual(hood.regions(), [0]);
    put('001');
    assert.deepEqual(hood.regions(), [2]);
  });

  it('counts this agent only after its join', () => {
    const { hood, put, answer } = hoodOf({ size: 2 });
    put('1', '01');
    answer(['1', '01']);
    assert.deepEqual(hood.regions(), [0]);
    hood.join();
    assert.deepEqual(hood.regions(), [1]);
  });

  it('is the least with `size` joined members: it becomes larger below, and smaller again', () => {
    const { hood, put } = hoodOf({ size: 3 });
    hood.join();
    put('1', '01');
    assert.deepEqual(hood.regions(), [0]);
    for (let i = 0; i < 2; i++) {
      put('001');
      assert.deepEqual(hood.regions(), [1]);
      put('0001');
      assert.deepEqual(hood.regions(), [2]);
      hood.remove('0001');
      assert.deepEqual(hood.regions(), [1]);
      hood.remove('001');
      assert.deepEqual(hood.regions(), [0]);
    }
  });

  it('becomes smaller at once, and larger after the members of the larger one have answered', () => {
    const { hood, put, answer } = hoodOf({ size: 3 });
    hood.join();
    put('1', '01', '001');
    assert.deepEqual(hood.regions(), [1]);
    assert.deepEqual([hood.isComplete, hood.questions()], [true, []]);
    hood.remove('001');
    assert.equal(hood.isComplete, false);
    assert.deepEqual(lengthsOf(hood), [1]);
    assert.equal(answer(['1']), false);
    assert.deepEqual(lengthsOf(hood), [1]);
    assert.equal(answer(['01']), true);
    assert.deepEqual(lengthsOf(hood), [0]);
    assert.equal(hood.isComplete, true);
  });

  it('is found for each identifier of its own', () => {
    const { hood, put } = hoodOf({ id: '0+1', size: 3 });
    hood.join();
    put('01', '001', '11');
    assert.deepEqual(hood.regions(), [1, 0]);
  });

  it('does not change with an agent that says it has joined again', () => {
    const { hood } = joined();
    const { changes } = hood;
    hood.put(neighbour('001'));
    assert.equal(hood.changes, changes);
    hood.put(neighbour('001', { regions: [3] }));
    assert.equal(hood.changes, changes + 1);
  });
});

describe('a level beside the path', () => {
  it('counts as empty only when all members of the region know nobody there', () => {
    for (const [second, kind] of [
      [true, 'known'],
      [false, 'unsure'],
    ] as const) {
      const { hood, place, contacts, put } = joined();
      put('000001');
      contacts.clear();
      const { region } = hood.questions()[0]!;
      assert.equal(region.length, 3);
      const empty = [true, true, true];
      for (const { to } of hood.questions()) hood.answered(to, region, { empty });
      hood.answered('0001', region, { empty: [second, true, true] });
      hood.settle();
      assert.equal(place('1').kind, kind);
    }
  });

  it('stays doubtful, and is asked about again, when a member knows somebody there', () => {
    const { hood, contacts, answer } = joined();
    contacts.clear();
    assert.equal(answer(['0001', '00001', '001'], false), true);
    assert.equal(hood.isComplete, false);
    assert.equal(hood.questions().length, 3);
  });

  it('is not empty any more when a member knows somebody there, whatever was asked', () => {
    const { hood, contacts, answer, place } = joined();
    contacts.delete('1');
    answer(['0001', '00001', '001']);
    assert.equal(place('1').kind, 'known');
    contacts.delete('01');
    const { region } = hood.questions()[0]!;
    for (const { to } of hood.questions()) hood.answered(to, region, { empty: [false, true] });
    hood.settle();
    assert.equal(place('01').kind, 'known');
    assert.equal(place('1').kind, 'unsure');
  });

  it('is not judged by answers about another region of that length', () => {
    const { hood, contacts } = joined();
    contacts.clear();
    for (const { to } of hood.questions()) {
      hood.answered(to, regionOf('01'), { empty: [true, true] });
    }
    assert.equal(hood.settle(), false);
  });

  it('is occupied if an identifier of this agent itself is there', () => {
    const { hood, put, answer } = hoodOf({ id: '0+1', size: 2 });
    put('01', '001', '0001');
    answer(['01', '001', '0001'], false);
    hood.join();
    assert.deepEqual(hood.regions(), [3, 0]);
    assert.deepEqual(hood.questions(), []);
  });

  it('is known to be empty if it was in the larger region, where nobody was', () => {
    const { hood, put, place } = hoodOf({ size: 4 });
    hood.join();
    put('0001', '00001', '000001');
    assert.deepEqual(hood.regions(), [3]);
    assert.deepEqual(hood.questions(), []);
    assert.equal(place('1').kind, 'known');
  });

  it('is doubtful while a member that was asked is silent', () => {
    const { hood, place, contacts, answer } = joined();
    contacts.clear();
    assert.equal(hood.isComplete, false);
    answer(['0001']);
    assert.equal(place('1').kind, 'unsure');
    answer(['00001', '001']);
    assert.equal(hood.isComplete, true);
  });

  it('is occupied as soon as this agent hears of an agent there', () => {
    const { hood, place, contacts, answer } = joined();
    assert.deepEqual([...hood.unwatched()], ['1', '01'].map(regionOf), 'by contacts only');
    contacts.clear();
    answer(['0001', '00001', '001']);
    assert.equal(place('1').kind, 'known');
    hood.put(neighbour('1', { regions: [1] }));
    assert.equal(place('1').kind, 'elsewhere');
    assert.deepEqual([...hood.unwatched()], [], 'one is a member, the other side is empty');
  });

  it('is asked about anew when its last agent is gone; earlier answers do not count', () => {
    const { hood, contacts, answer } = joined();
    contacts.delete('1');
    answer(['0001']);
    contacts.add('1');
    hood.settle();
    contacts.delete('1');
    const asks = hood.questions().some(({ to }) => to === '0001');
    assert.ok(asks, 'its answer is older than the agent beside the path');
  });

  it('counts as occupied when the answer is too short', () => {
    const { hood, place, contacts } = joined();
    contacts.clear();
    for (const { to, region } of hood.questions()) hood.answered(to, region, { empty: [] });
    hood.settle();
    assert.equal(place('1').kind, 'unsure');
  });
});

describe('the agents beside the path', () => {
  /** Size 4, region `00`; the others have these identifiers, and say that these are their regions. */
  const beside = (others: Record<string, number[]>, more: Partial<Neighbour> = {}) => {
    const stage = joined();
    for (const [id, regions] of Object.entries(others)) {
      stage.hood.put(neighbour(id, { regions, ...more }));
    }
    assert.deepEqual(stage.hood.regions(), [2]);
    const [path] = stage.hood.ledPaths();
    return { ...stage, few: (level: number) => path!.few(level) };
  };

  it('all watch this agent if the region of one of them is not in their subtree', () => {
    const { few, place } = beside({ 1: [0], 11: [0] });
    assert.deepEqual(few(0), ['1', '11']);
    const order = ['1', '11', '0', '00001', '0001', '001'];
    assert.deepEqual(place('1'), { kind: 'known', order });
    assert.equal(few(1), null, 'no member is there');
    assert.equal(place('01').kind, 'elsewhere');
  });

  it('may not all be known if they have regions of their own', () => {
    const { few, place } = beside({ 1: [1], 11: [2] });
    assert.equal(few(0), null);
    assert.equal(place('1').kind, 'elsewhere');
  });

  it('may not all be known because one that has not joined watches the whole space', () => {
    const { few } = beside({ 1: [0] }, { joined: false });
    assert.equal(few(0), null);
  });

  it('are judged by the region of the identifier that is there', () => {
    assert.equal(beside({ '1+01': [1, 0] }).few(0), null);
    assert.deepEqual(beside({ '1+01': [1, 0] }).few(1), ['1+01']);
    assert.deepEqual(beside({ '1+01': [0, 2] }).few(0), ['1+01']);
    assert.equal(beside({ '1+01': [0, 2] }).few(1), null);
  });

  it('may be this agent itself, which knows all others there if its region there is larger', () => {
    const { hood, put, place } = hoodOf({ id: '0+1', size: 3 });
    hood.join();
    put('01', '001');
    hood.put(neighbour('11', { regions: [1] }));
    assert.deepEqual(hood.regions(), [1, 0]);
    const [zero, one] = hood.ledPaths();
    assert.deepEqual(zero!.few(0), ['11']);
    assert.equal(one!.first, 0n, 'its region is the whole space');
    assert.deepEqual(place('11'), { kind: 'known', order: ['11', '0+1', '01', '001'] });
    assert.deepEqual(place('01'), { kind: 'known', order: ['01', '0+1', '001'] });
  });

  it('may be only this agent itself', () => {
    const { hood, put, place } = hoodOf({ id: '0+1', size: 3 });
    hood.join();
    put('01', '001');
    assert.deepEqual(hood.regions(), [1, 0]);
    assert.deepEqual(hood.ledPaths()[0]!.few(0), []);
    assert.deepEqual(place('1'), { kind: 'known', order: ['0+1', '001', '01'] });
  });

  it('may not all be known if this agent has a smaller region there', () => {
    const { hood } = hoodOf({ id: '0+1', size: 2 });
    hood.join();
    for (const id of ['01', '11']) hood.put(neighbour(id, { regions: [1] }));
    assert.deepEqual(hood.regions(), [1, 1]);
    assert.deepEqual(
      hood.ledPaths().map(({ few }) => few(0)),
      [null, null],
    );
  });
});

describe('what a member is told', () => {
  it('names a level as empty if neither this agent nor its members nor contacts are there', () => {
    const { hood, contacts } = hoodOf({ id: '0+11' });
    hood.join();
    hood.put(neighbour('0101'));
    contacts.add('00001');
    const { empty } = hood.answerFor(regionOf('000000'));
    assert.deepEqual(empty, [false, false, true, true, false, true]);
  });

  it('is complete for regions of length 0 and of 160 bits', () => {
    const { hood } = hoodOf();
    assert.deepEqual(hood.answerFor(prefixOf(0n, 0)).empty, []);
    assert.equal(hood.answerFor(prefixOf(1n, KEY_BITS)).empty.length, KEY_BITS);
    assert.equal(hood.answerFor(prefixOf(1n, KEY_BITS)).empty.at(-1), false);
  });
});

describe('an agent is watched', () => {
  it('while this agent needs it, or it needs this agent', () => {
    const { hood } = joined();
    assert.deepEqual(hood.regions(), [2]);
    assert.equal(hood.needs(keysOf('0011')), true);
    assert.equal(hood.needs(keysOf('1+0011')), true);
    assert.equal(hood.needs(keysOf('01')), false);
    assert.equal(hood.isNeededBy(neighbour('01', { regions: [1] })), true);
    assert.equal(hood.isNeededBy(neighbour('01', { regions: [2] })), false);
    assert.equal(hood.isNeededBy(neighbour('01+1', { regions: [2, 0] })), true);
  });

  it('if it has not said what it needs', () => {
    assert.equal(joined().hood.isNeededBy(neighbour('1', { regions: [] })), true);
  });

  it('not because others name this agent itself or a member', () => {
    const { hood } = joined();
    assert.equal(hood.named('0', keysOf('0')), false);
    assert.equal(hood.named('001', keysOf('001')), false);
    assert.equal(hood.named('0011', keysOf('0011')), true);
  });
});

describe('false reports', () => {
  it('thousands of named agents hold up a region only until they expire', () => {
    const { hood, put, answer } = hoodOf();
    put('01');
    for (let i = 0; i < 5000; i++) hood.named(`false${i}`, [BigInt(i)]);
    assert.equal(answer(['01']), false);
    for (let i = 0; i < 5000; i++) hood.expire(`false${i}`);
    assert.equal(hood.settle(), true);
  });
});
