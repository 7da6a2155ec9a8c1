// Which senders may send each message type: unknown agents, greeted agents, or members.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Gate, type Sender, TAKEN_FROM } from '../../../../agent/core/membership/gate.ts';
import { FullView } from '../../../../agent/core/membership/overlay.ts';
import type { Claim } from '../../../../agent/core/membership/refused-claims.ts';
import type { Member } from '../../../../agent/core/membership/view.ts';
import type { Message, MessageType } from '../../../../agent/core/protocol/messages.ts';

const NOW = { mono: 0, wall: 0 };
const ME = { id: 'a1', inc: 7 };
const MEMBER = { id: 'a2', inc: 20 };
/** An agent of the config that this incarnation greeted, and that is not in the view. */
const ASKED = { id: 'a3', inc: 30 };
const GONE = { id: 'a4', inc: 40 };
const STRANGER = { id: 'zz', inc: 50 };
/** An agent outside the view that has answered a question. */
const ANSWERER = { id: 'yy', inc: 60 };

function gateOf(joined: boolean) {
  const refused: { id: string; claim: Claim; why: string }[] = [];
  const gate = new Gate({
    settings: { fingerprintHash: 'same' },
    view: {
      joined,
      get: (id) => (id === MEMBER.id ? ({ card: MEMBER } as unknown as Member) : undefined),
    },
    outbound: { inc: ME.inc },
    refused: { refuse: (id, claim, why) => refused.push({ id, claim, why }) },
    overlay: new FullView(),
    contacts: { hasAnswered: ({ id }) => id === ANSWERER.id },
    membership: {
      greetings: {
        isOf: (id, greeting) => greeting === `for ${id}` && id !== STRANGER.id,
        isKnown: (id) => id !== STRANGER.id,
      },
      hasTombstone: (id, inc) => id === GONE.id && inc <= GONE.inc,
    },
  });
  const take = (from: typeof ME, message: object, to = ME) =>
    gate.admits({ from, to, message: message as Message }, NOW);
  return { take, refused };
}

/** The senders of each message type. A missing type does not compile. */
const EXPECTED: Readonly<Record<MessageType, Sender>> = {
  ...{ HELLO: 'anyone', PROBE: 'agreeing', HEARTBEAT: 'agreeing' },
  ...{ WELCOME: 'asked', REFUSED: 'asked', COMPLETE: 'end' },
  ...{ LIST: 'member', LIST_ACK: 'member', YIELD: 'member', YIELD_ACK: 'member' },
  ...{
    URLS: 'correspondent',
    URLS_ACK: 'correspondent',
    KNOWN: 'member',
    BATCH_REFUSED: 'correspondent',
  },
  ...{ ROWS: 'member', ROWS_ACK: 'member', LEAVE: 'member', ORDERS: 'answerer' },
  ...{
    LIST_ASK: 'member',
    TREE_TOLD: 'correspondent',
    TREE_ASK: 'correspondent',
    TREE_DONE: 'correspondent',
  },
  ...{
    FIND_NODE: 'agreeing',
    FOUND_NODES: 'agreeing',
    PING: 'agreeing',
    REGION_ASK: 'member',
    REGION_TOLD: 'member',
  },
  ...{ SLOT_ASK: 'correspondent', SLOT_GRANT: 'correspondent', SLOT_END: 'correspondent' },
  ...{ PAGES_ASK: 'correspondent', PAGES_GRANT: 'correspondent' },
  ...{ COUNT: 'member', COUNTED: 'member' },
  ...{ ROBOTS_ASK: 'correspondent', ROBOTS_TOLD: 'correspondent', RELAY: 'correspondent' },
  ...{ CONTROL: 'nobody', CONTROL_ACK: 'nobody' },
};
const ALL = Object.keys(EXPECTED) as MessageType[];
const typesOf = (...senders: Sender[]) => ALL.filter((type) => senders.includes(EXPECTED[type]));

describe('the gate', () => {
  it('has the expected rule for each message type', () => {
    assert.deepEqual(TAKEN_FROM, EXPECTED);
  });

  for (const joined of [false, true]) {
    const when = joined ? 'after the join' : 'before the join';
    for (const type of ALL.filter((one) => EXPECTED[one] !== 'anyone')) {
      it(`${when} refuses ${type} from an unknown agent, and names the agent`, () => {
        const { take, refused } = gateOf(joined);
        const message = { type, greeting: 'for zz', fingerprintHash: 'other' };
        assert.equal(take(STRANGER, message), false);
        assert.deepEqual(
          refused.map(({ id }) => id),
          ['zz'],
        );
        const { why, claim } = refused[0]!;
        if (claim !== 'settings') assert.match(why, new RegExp(`^its ${type} `));
      });
    }
  }

  it('lets an unknown agent ask to join', () => {
    const { take, refused } = gateOf(true);
    for (const type of typesOf('anyone')) assert.equal(take(STRANGER, { type }), true);
    assert.equal(take(STRANGER, { type: 'HEARTBEAT', fingerprintHash: 'same' }), true);
    assert.deepEqual(refused, []);
  });

  it('accepts directives from an agent outside the view only if it has answered', () => {
    const { take, refused } = gateOf(true);
    assert.deepEqual(typesOf('answerer'), ['ORDERS']);
    assert.equal(take(MEMBER, { type: 'ORDERS' }), true);
    assert.equal(take(ANSWERER, { type: 'ORDERS' }), true);
    assert.equal(take(ANSWERER, { type: 'URLS' }), false);
    assert.equal(take(STRANGER, { type: 'ORDERS' }), false);
    assert.equal(take(ANSWERER, { type: 'ORDERS' }, { ...ME, inc: ME.inc - 1 }), false);
    assert.equal(refused.length, 1);
  });

  it('accepts an answer only from the greeted agent, with its greeting', () => {
    for (const joined of [false, true]) {
      for (const type of typesOf('asked')) {
        const { take, refused } = gateOf(joined);
        assert.equal(take(ASKED, { type, greeting: 'for a3' }), true, type);
        assert.equal(take(ASKED, { type, greeting: 'for a2' }), false, type);
        assert.equal(take(ASKED, { type }), false, type);
        assert.equal(take(MEMBER, { type }), false, `${type} of a member`);
        assert.deepEqual(
          refused.map(({ claim }) => claim),
          ['unasked', 'unasked', 'unasked'],
        );
      }
    }
  });

  it('accepts COMPLETE before the join only as an answer', () => {
    const { take, refused } = gateOf(false);
    assert.equal(take(ASKED, { type: 'COMPLETE', greeting: 'for a3' }), true);
    assert.equal(take(MEMBER, { type: 'COMPLETE', greeting: 'for a2' }), true);
    assert.equal(take(MEMBER, { type: 'COMPLETE' }), false);
    assert.deepEqual(refused, [], 'members may repeat it');
    assert.equal(take(ASKED, { type: 'COMPLETE' }), false);
    assert.equal(refused.length, 1);
    assert.equal(gateOf(true).take(MEMBER, { type: 'COMPLETE' }), true);
  });

  it('accepts other types from members only, and names no sender of a late message', () => {
    const { take, refused } = gateOf(true);
    for (const type of typesOf('member')) {
      assert.equal(take(MEMBER, { type }), true, type);
      assert.equal(take({ ...MEMBER, inc: MEMBER.inc - 1 }, { type }), false, type);
      assert.equal(take(MEMBER, { type }, { ...ME, inc: ME.inc - 1 }), false, type);
      assert.equal(take(ASKED, { type }), false, type);
      assert.equal(take(GONE, { type }), false, type);
    }
    assert.deepEqual(refused, []);
  });
});
