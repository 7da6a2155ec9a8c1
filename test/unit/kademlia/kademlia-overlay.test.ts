// The questions and answers of the overlay, and the statements of others that it accepts. Other
// agents are named by the bits of their identifiers. This agent has an identifier of zeros.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContactMessage, RegionMessage } from '../../../agent/core/membership/overlay.ts';
import type { MemberCard } from '../../../agent/core/protocol/messages.ts';
import {
  KademliaOverlay,
  type KademliaSettings,
} from '../../../agent/kademlia/kademlia-overlay.ts';
import type { IdentifiersOf } from '../../../agent/kademlia/routing/contact.ts';
import { KEY_BITS } from '../../../assignment/identifiers.ts';
import { sha1 } from '../assignment/sha1.ts';
import { contactOf, keyOfBits, namedIdentifiers } from './contacts.ts';

type RegionTold = Extract<RegionMessage, { type: 'REGION_TOLD' }>;

const heartbeatMs = 100;
const suspectAfterMs = 1000;
const self = contactOf('0');

const cardOf = (id: string, more: Partial<MemberCard> = {}): MemberCard => {
  return { ...contactOf(id), inc: 1, ...more };
};
const watched = (id: string, joined = true) => ({ card: cardOf(id), joined, leaving: false });
const hexOf = (bits: string) =>
  keyOfBits(bits)
    .toString(16)
    .padStart(KEY_BITS / 4, '0');
const instant = (mono: number) => ({ mono, wall: mono });
const ZERO = instant(0);

function overlayOf(members: readonly string[] = [], more: Partial<KademliaSettings> = {}) {
  const overlay = new KademliaOverlay({
    ...{ self, sha1, identifiersOf: namedIdentifiers, fingerprintHash: 'same', contacts: [] },
    ...{ bucketSize: 20, concurrency: 3, neighbourhood: 2, backups: 0, random: () => 0.5 },
    ...{ heartbeatMs, suspectAfterMs, countsPages: false, ...more },
  });
  overlay.reset(self.capacity);
  for (const id of members) overlay.added(watched(id), ZERO);
  const told = (from: string, answer: Partial<RegionTold> = {}) =>
    overlay.onRegion(
      watched(from),
      { ...{ type: 'REGION_TOLD', key: hexOf(''), length: 0, agents: [], empty: '' }, ...answer },
      ZERO,
    );
  const ask = (from: string, bits: string, length = bits.length): RegionTold => {
    const message = { type: 'REGION_ASK', key: hexOf(bits), length } as const;
    const answer = overlay.onRegion(watched(from), message, ZERO);
    assert.ok(answer?.type === 'REGION_TOLD');
    return answer;
  };
  const greeted = (at: number) =>
    overlay.pump(instant(at)).greet.map(({ id, address }) => {
      return address === `${id}:1` ? id : `${id} at ${address}`;
    });
  return { overlay, told, ask, greeted };
}

/** The answer of a joined agent to a PING. */
function answerOf(id: string): ContactMessage {
  const { capacity, address } = cardOf(id);
  return { type: 'PING', capacity, address, fingerprintHash: 'same', joined: true, answer: true };
}

/** The ids and lengths of the questions. */
function asksOf({ asks }: ReturnType<KademliaOverlay['pump']>): string[] {
  return asks.map(({ to, message }) => {
    return message.type === 'REGION_ASK' ? `${to} ${message.length}` : message.type;
  });
}

/** An agent that has joined; its region is `0`, with the members 01 and 001. */
function joined(more: Partial<KademliaSettings> = {}) {
  const stage = overlayOf(['1', '01', '001'], more);
  for (const id of ['1', '01', '001']) {
    stage.told(id, { key: hexOf('0'), length: 2, empty: '00' });
    stage.told(id, { key: hexOf('0'), length: 3, empty: '000' });
    stage.told(id);
  }
  stage.overlay.pump(ZERO);
  stage.overlay.joined();
  return stage;
}

describe('questions about a region', () => {
  it('are repeated twice in a heartbeat until they are answered', () => {
    const { overlay, told } = overlayOf(['1', '11']);
    assert.deepEqual(asksOf(overlay.pump(ZERO)), ['1 0', '11 0']);
    assert.deepEqual(asksOf(overlay.pump(instant(49))), []);
    told('1');
    assert.deepEqual(asksOf(overlay.pump(instant(50))), ['11 0']);
    assert.equal(overlay.isReady(), false);
    told('11');
    assert.deepEqual(asksOf(overlay.pump(instant(100))), []);
    assert.equal(overlay.isReady(), true);
  });

  it('are asked once, even if several identifiers have the same region', () => {
    const { overlay } = overlayOf(['1', '11'], { self: contactOf('0+10'), neighbourhood: 8 });
    assert.deepEqual(asksOf(overlay.pump(ZERO)), ['1 0', '11 0']);
    assert.deepEqual(asksOf(overlay.pump(instant(50))), ['1 0', '11 0']);
  });

  it('are answered with all members and contacts in the region, the nearest first', () => {
    const { overlay, ask } = overlayOf(['01', '011', '1'], { bucketSize: 1 });
    for (const id of ['0101', '0111']) overlay.added(watched(id), ZERO);
    const { agents } = ask('1', '01');
    assert.deepEqual(
      agents.map(({ id }) => id),
      ['01', '0101', '011', '0111'],
    );
    assert.deepEqual(ask('01', '01').agents.length, 4, 'the asker is not named, 1 is beside');
  });

  it('are answered with at most 64 agents in the region, and two beside each level', () => {
    const { overlay, ask } = overlayOf();
    for (let i = 0; i < 100; i++) overlay.added(watched(`01/${i}`), ZERO);
    for (let i = 0; i < 100; i++) overlay.added(watched(`1/${i}`), ZERO);
    assert.equal(ask('00', '01').agents.length, 66);
    assert.equal(ask('00', '').agents.length, 64);
  });

  it('are answered for regions of length 0 and of 160 bits', () => {
    const { ask } = overlayOf(['1', '01']);
    assert.equal(ask('1', '').empty, '');
    const all = ask('1', '', KEY_BITS);
    assert.equal(all.empty, `00${'1'.repeat(KEY_BITS - 2)}`);
    assert.deepEqual(
      all.agents.map(({ id }) => id),
      ['01'],
    );
  });

  it('are not answered with names that nobody has proved', () => {
    const { overlay, ask } = joined();
    overlay.isNamed(cardOf('11'), ZERO);
    const { agents } = ask('1', '');
    assert.equal(
      agents.some(({ id }) => id === '11'),
      false,
    );
  });
});

describe('an answer about a region', () => {
  it('with too short a list counts as: somebody is there', () => {
    for (const [empty, isReady] of [
      ['111', true],
      ['1', false],
      ['', false],
    ] as const) {
      const stage = overlayOf(['001', '0001'], { neighbourhood: 1 });
      const { overlay, told } = stage;
      const length = overlay.about(watched('001')).regions![0]!;
      assert.equal(length, 3);
      for (const id of ['001', '0001']) told(id, { key: hexOf('0'), length, empty });
      overlay.pump(ZERO);
      assert.equal(overlay.isReady(), isReady, `'${empty}'`);
    }
  });

  it('with bits after the prefix is one about the region', () => {
    const { overlay, told } = overlayOf(['1']);
    told('1', { key: 'f'.repeat(KEY_BITS / 4) });
    overlay.pump(ZERO);
    assert.equal(overlay.isReady(), true);
  });

  it('makes this agent greet those in its regions, again and again, until they expire', () => {
    const { overlay, told, greeted } = overlayOf(['1']);
    told('1', { agents: [cardOf('11'), cardOf('1'), cardOf('0')] });
    assert.deepEqual(greeted(0), ['11']);
    assert.deepEqual(greeted(99), []);
    assert.deepEqual(greeted(100), ['11']);
    assert.equal(overlay.isReady(), false);
    assert.deepEqual(greeted(suspectAfterMs), []);
    assert.equal(overlay.isReady(), true);
  });

  it('makes it ping those outside, of whom 512 wait at a time', () => {
    const { overlay, told } = joined();
    const agents = Array.from({ length: 1000 }, (_, i) => cardOf(`1/${i}`));
    told('01', { agents });
    const { pings, greet } = overlay.pump(ZERO);
    assert.equal(pings.filter(({ message }) => message.type === 'PING').length, 512);
    assert.deepEqual(greet, []);
    overlay.pump(instant(suspectAfterMs));
    const later = overlay.pump(instant(suspectAfterMs + heartbeatMs));
    assert.equal(later.pings.filter(({ message }) => message.type === 'PING').length, 0);
  });

  it('with thousands of false agents of a region delays its decision, and no longer', () => {
    const { overlay, told, greeted } = overlayOf(['1']);
    for (let part = 0; part < 5; part++) {
      told('1', { agents: Array.from({ length: 1000 }, (_, i) => cardOf(`11/${part}-${i}`)) });
    }
    assert.ok(greeted(0).length > 0);
    assert.equal(overlay.isReady(), false);
    overlay.pump(instant(suspectAfterMs));
    assert.equal(overlay.isReady(), true);
  });
});

describe('members', () => {
  it('that have not said what they need are told of everybody, and are not parted with', () => {
    const { overlay } = joined();
    overlay.added(watched('11'), ZERO);
    assert.equal(overlay.concerned(watched('11')), null);
    assert.equal(overlay.isSpare(watched('11')), false);
    overlay.heard(watched('11'), { regions: [2], needs: false }, ZERO);
    for (const id of ['01', '111']) overlay.added(watched(id), ZERO);
    assert.deepEqual([...overlay.concerned(watched('11'))!], ['11', '111']);
  });

  it('are spare only when neither side needs the other', () => {
    const { overlay } = joined();
    overlay.added(watched('0001'), ZERO);
    assert.equal(overlay.needs(watched('1')), false);
    overlay.heard(watched('1'), { regions: [1], needs: false }, ZERO);
    assert.equal(overlay.isSpare(watched('1')), false, 'it does not know yet');
    assert.equal(overlay.about(watched('1')).needs, false);
    for (const [about, isSpare] of [
      [{ regions: [1], needs: true }, false],
      [{ regions: [0], needs: false }, false],
      [{ regions: [1], needs: false }, true],
    ] as const) {
      overlay.heard(watched('1'), about, ZERO);
      assert.equal(overlay.isSpare(watched('1')), isSpare, JSON.stringify(about));
    }
    overlay.heard(watched('0001'), { regions: [4], needs: false }, ZERO);
    assert.equal(overlay.isSpare(watched('0001')), false);
    // The members beside this agent contradict each other.
    overlay.added(watched('11'), ZERO);
    overlay.heard(watched('11'), { regions: [0], needs: false }, ZERO);
    assert.equal(overlay.isSpare(watched('1')), false);
    overlay.heard(watched('11'), { regions: [1], needs: false }, ZERO);
    assert.equal(overlay.isSpare(watched('1')), true);
  });

  it('with the wrong number of regions are not believed', () => {
    const { overlay } = joined();
    overlay.added(watched('0001'), ZERO);
    overlay.heard(watched('1'), { regions: [1, 1], needs: false }, ZERO);
    assert.equal(overlay.isSpare(watched('1')), false);
    overlay.heard(watched('1'), { regions: [], needs: false }, ZERO);
    assert.equal(overlay.isSpare(watched('1')), false);
  });

  it('that were the last beside a region are pinged when this agent does not watch them', () => {
    const { overlay, told } = joined();
    const pinged = (at: number) =>
      overlay.pump(instant(at)).pings.flatMap(({ to, message }) => {
        return message.type === 'PING' ? [to.id] : [];
      });
    told('001', { key: hexOf('0'), length: 2, empty: '00' });
    // The look-ups of the join end without answers.
    for (const at of [0, 600, 1200, 1800]) overlay.pump(instant(at));
    overlay.removed(watched('1'), false);
    const answer: ContactMessage = answerOf('1');
    overlay.onContact({ id: '1', inc: 1 }, answer, instant(2000));
    assert.deepEqual(pinged(2900), [], 'it was heard a short time ago');
    assert.deepEqual(pinged(4000), ['1']);
  });

  it('that are all gone are replaced by contacts, before this agent decides alone', () => {
    const { overlay, greeted } = joined();
    const ping: ContactMessage = answerOf('11');
    overlay.added(watched('0001'), ZERO);
    overlay.onContact({ id: '11', inc: 1 }, ping, ZERO);
    for (const id of ['1', '01', '001', '0001']) overlay.removed(watched(id), true);
    assert.deepEqual(greeted(0), ['11']);
    const owner = () => overlay.placement([{ id: '0', capacity: 1 }]).owner('a.example');
    assert.equal(owner(), undefined);
    overlay.pump(instant(suspectAfterMs));
    overlay.pump(instant(suspectAfterMs));
    assert.equal(owner(), '0', 'the contact has not answered');
  });
});

describe('agents outside the view', () => {
  it('are kept for the next start with the members, once this agent has joined', () => {
    const saved: string[][] = [];
    const kept = { read: () => [], save: (list: readonly string[]) => void saved.push([...list]) };
    const { overlay } = joined({ kept });
    assert.deepEqual(saved, [], 'an agent that joins may know one agent of many');
    const about = {
      capacity: 1,
      address: '11:1',
      fingerprintHash: 'same',
      joined: true,
      answer: true,
    };
    overlay.onContact({ id: '11', inc: 1 }, { type: 'PING', ...about }, instant(5));
    overlay.pump(instant(10));
    assert.deepEqual(saved, [['11:1', '1:1', '01:1', '001:1']]);
    overlay.pump(instant(5000));
    assert.equal(saved.length, 1);
  });

  it('that were kept are asked at the next start', () => {
    const kept = { read: () => ['11:1', '0:1'], save: () => {} };
    const { overlay } = overlayOf([], { kept, contacts: ['10:1'] });
    const to = overlay.pump(ZERO).pings.map(({ to: { id, address } }) => `${id}@${address}`);
    assert.deepEqual(to, ['@10:1', '@11:1']);
    assert.equal(overlay.mayBeFirst, false);
    assert.deepEqual(overlay.entries.others, ['11:1']);
  });

  const find = (key: string): ContactMessage => ({
    ...{ type: 'FIND_NODE', key, capacity: 1, address: '11:1', fingerprintHash: 'same' },
  });

  it('are told the nearest agents, without themselves', () => {
    const { overlay } = overlayOf(['1', '11', '01'], { bucketSize: 2 });
    const answer = overlay.onContact({ id: '11', inc: 1 }, find(hexOf('11')), ZERO);
    assert.ok(answer?.type === 'FOUND_NODES');
    assert.deepEqual(
      answer.agents.map(({ id }) => id),
      ['1', '01'],
    );
  });

  it('are no drained agents, which are asked only if no others are known', () => {
    const { overlay } = overlayOf([], { bucketSize: 2 });
    const drained = { capacity: 0 };
    const asked = () => {
      const answer = overlay.onContact({ id: '01', inc: 1 }, find(hexOf('11')), ZERO);
      return answer?.type === 'FOUND_NODES' ? answer.agents.map(({ id }) => id) : [];
    };
    const hear = (id: string, inc: number, more: { capacity?: number }) =>
      overlay.onContact({ id, inc }, { ...answerOf(id), ...more } as ContactMessage, ZERO);
    overlay.added({ ...watched('11'), card: cardOf('11', drained) }, ZERO);
    assert.deepEqual(asked(), ['11']);
    hear('1', 1, {});
    assert.deepEqual(asked(), ['1']);
    hear('10', 1, {});
    hear('1', 2, drained);
    assert.deepEqual(asked(), ['10']);
  });

  it('are pinged when they are named after a long silence, and dropped without an answer', () => {
    const { overlay } = joined();
    const ping: ContactMessage = answerOf('11');
    overlay.onContact({ id: '11', inc: 1 }, ping, ZERO);
    const named = (at: number) => {
      const answer = overlay.onContact({ id: '01', inc: 1 }, find(hexOf('1')), instant(at));
      return answer?.type === 'FOUND_NODES' && answer.agents.some(({ id }) => id === '11');
    };
    const pinged = (at: number) =>
      overlay.pump(instant(at)).pings.some(({ to, message }) => {
        return to.id === '11' && message.type === 'PING';
      });
    const late = 30 * heartbeatMs;
    assert.equal(named(late - 1), true);
    assert.equal(pinged(late - 1), false);
    assert.equal(named(late), true);
    assert.equal(pinged(late), true);
    overlay.pump(instant(late + suspectAfterMs));
    assert.equal(named(late + suspectAfterMs), false);
  });

  it('are asked for the agents nearest to this one: the first member, and all after the join', () => {
    const { overlay } = overlayOf(['1']);
    const asked = (at: number) =>
      overlay.pump(instant(at)).pings.flatMap(({ to, message }) => {
        return message.type === 'FIND_NODE' && message.key === hexOf('0') ? [to.id] : [];
      });
    assert.deepEqual(asked(0), ['1']);
    overlay.added(watched('01'), ZERO);
    const agents = [cardOf('01')];
    const about = { capacity: 1, address: '1:1', fingerprintHash: 'same' };
    const found = { type: 'FOUND_NODES', key: hexOf('0'), agents, ...about } as const;
    overlay.onContact({ id: '1', inc: 1 }, found, ZERO);
    assert.deepEqual(asked(1), ['01']);
    overlay.onContact({ id: '01', inc: 1 }, { ...found, agents: [] }, ZERO);
    assert.deepEqual(asked(2), []);
    overlay.joined();
    assert.deepEqual(asked(3), ['01', '1']);
  });

  it('get an answer to a PING, and none to an answer', () => {
    const { overlay } = overlayOf();
    const ping = (answer: boolean): ContactMessage => ({
      ...{ type: 'PING', capacity: 1, address: '11:1', fingerprintHash: 'same', answer },
    });
    const answer = overlay.onContact({ id: '11', inc: 1 }, ping(false), ZERO);
    assert.equal(answer?.type, 'PING');
    assert.equal(overlay.onContact({ id: '11', inc: 1 }, ping(true), ZERO), null);
  });

  it('are remembered with their latest incarnations, 4,096 of them', () => {
    const { overlay } = overlayOf();
    for (const inc of [1, 2]) overlay.onContact({ id: '11', inc }, find(hexOf('')), ZERO);
    assert.equal(overlay.met('11')?.inc, 2);
    for (let i = 0; i < 4096; i++) {
      overlay.meet(cardOf(`1/${i}`), ZERO);
    }
    assert.equal(overlay.met('11'), null);
    assert.ok(overlay.met('1/0'));
  });

  it('cannot make this agent compute many identifiers', () => {
    let computed = 0;
    const identifiersOf: IdentifiersOf = ({ id, capacity }) => {
      computed += capacity;
      return namedIdentifiers({ id, capacity: 1 });
    };
    const { overlay } = overlayOf([], { identifiersOf });
    const say = (id: string, more: object, inc = 1) => {
      const card = { capacity: 1, address: `${id}:1`, fingerprintHash: 'same', ...more };
      return overlay.onContact({ id, inc }, card as unknown as ContactMessage, ZERO);
    };
    computed = 0;
    for (let i = 0; i < 300; i++) {
      const ping = { type: 'PING', capacity: 1000 - i / 1000, answer: false };
      assert.equal(say('11', ping, i)?.type, 'PING', 'it is answered');
      overlay.isNamed(cardOf(`1/${i}`, { capacity: 1000 }), ZERO);
      overlay.isWanted(cardOf(`10/${i}`, { capacity: 1000 }), {}, ZERO);
      overlay.meet(cardOf(`101/${i}`, { capacity: 1000 }), ZERO);
    }
    const agents = Array.from({ length: 1024 }, (_, i) => cardOf(`1/n${i}`));
    say('111', { type: 'FOUND_NODES', key: hexOf('1'), agents });
    overlay.pump(ZERO);
    // A capacity of 1000 may be computed 16 times, and is used several times each.
    assert.ok(computed < 16 * 1000 * 10, `${computed}`);
    assert.equal(overlay.pump(instant(heartbeatMs)).pings.length < 60, true);
  });

  it('are not greeted on behalf of a region unless all claims about it count', () => {
    const { overlay, told } = overlayOf(['1', '11']);
    for (const id of ['1', '11']) told(id, { agents: [cardOf('01', { capacity: 20_000 })] });
    assert.equal(overlay.isReady(), false);
    for (const id of ['1', '11']) told(id);
    overlay.pump(ZERO);
    assert.equal(overlay.isReady(), true);
  });

  it('become members if one side needs the other', () => {
    const { overlay } = joined();
    overlay.added(watched('0001'), ZERO);
    assert.equal(overlay.isWanted(cardOf('11'), { needs: false }, ZERO), false);
    assert.equal(overlay.isWanted(cardOf('11'), {}, ZERO), false);
    assert.equal(overlay.isWanted(cardOf('11'), { needs: true }, ZERO), true);
    assert.equal(overlay.isWanted(cardOf('00001'), { needs: false }, ZERO), true);
  });
});
