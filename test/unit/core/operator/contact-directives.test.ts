// Two agents outside each other's views exchange directives only after each has answered the other.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContactMessage } from '../../../../agent/core/membership/overlay.ts';
import { ContactDirectives } from '../../../../agent/core/operator/contact-directives.ts';
import type { Directive } from '../../../../agent/core/protocol/messages.ts';

const x = { id: 'x', inc: 3 };
const X_AT = 'tcp://x';
const PAUSE: Directive = { kind: 'pause', host: '', value: 1, n: 5, by: 'me' };
const at = (mono: number) => ({ mono, wall: mono });

function stageOf(all: readonly Directive[] = [PAUSE]) {
  const sent: string[] = [];
  const contacts = new ContactDirectives({
    settings: {
      ...{ capacity: 1, address: 'tcp://me', fingerprintHash: 'same' },
      ...{ heartbeatMs: 100, suspectAfterMs: 1000 },
    },
    directives: { hash: () => all.map(({ n }) => n).join(), all: () => all },
    outbound: {
      toAddress: ({ id, inc, address }, message) =>
        sent.push(`${id} ${inc} ${address} ${message.type}`),
    },
  });
  const hear = (message: object, now: number, from = x) => {
    const card = { capacity: 1, address: X_AT, fingerprintHash: 'same', orders: 'other' };
    contacts.heard(from, { ...card, ...message } as unknown as ContactMessage, at(now));
    return sent.splice(0);
  };
  return { contacts, hear };
}

const QUESTION = { type: 'PING', answer: false };
const ANSWER = { type: 'PING', answer: true };
const PING = 'x 3 tcp://x PING';
const ORDERS = 'x 3 tcp://x ORDERS';

describe('the directives of agents outside the view', () => {
  it('are sent once to an agent that asks and answers, until suspectAfterMs later', () => {
    for (const question of [QUESTION, { type: 'FIND_NODE', key: '' }]) {
      const { hear } = stageOf();
      assert.deepEqual(hear(question, 0), [PING]);
      assert.deepEqual(hear(ANSWER, 10), [ORDERS]);
      for (let i = 0; i < 9; i++) assert.deepEqual(hear({ ...question, orders: `q${i}` }, 20), []);
      assert.deepEqual(hear(question, 1009), []);
      assert.deepEqual(hear(question, 1010), [ORDERS]);
    }
  });

  it('are sent once to one address, whatever the names there', () => {
    const { hear } = stageOf();
    hear(QUESTION, 0);
    assert.deepEqual(hear(ANSWER, 10), [ORDERS]);
    const y = { id: 'y', inc: 1 };
    hear(QUESTION, 200, y);
    assert.deepEqual(hear(ANSWER, 210, y), []);
  });

  it('are not sent to an agent that only asks or only answers, nor if the digests agree', () => {
    const { contacts, hear } = stageOf();
    assert.deepEqual(hear(QUESTION, 0), [PING]);
    assert.deepEqual(hear(QUESTION, 99), [], 'it was asked a moment ago');
    assert.deepEqual(hear(QUESTION, 100), [PING]);
    const other = stageOf();
    other.contacts.asked(X_AT, at(0));
    assert.deepEqual(other.hear({ type: 'FOUND_NODES', key: '', agents: [] }, 10), []);
    assert.equal(other.contacts.hasAnswered(x), true);
    assert.equal(contacts.hasAnswered(x), false);
    const same = stageOf();
    assert.deepEqual(same.hear({ ...QUESTION, orders: '5' }, 0), []);
    assert.deepEqual(same.hear({ ...QUESTION, orders: undefined }, 0), []);
    const none = stageOf([]);
    assert.deepEqual(none.hear(QUESTION, 0), [PING]);
    assert.deepEqual(none.hear(ANSWER, 10), []);
  });

  it('are accepted from an incarnation that has answered where it was asked, in time', () => {
    const answersAt = (askedAt: string, now: number) => {
      const { contacts, hear } = stageOf();
      contacts.asked(askedAt, at(0));
      hear(ANSWER, now);
      return contacts;
    };
    const contacts = answersAt(X_AT, 999);
    assert.equal(contacts.hasAnswered(x), true);
    assert.equal(contacts.hasAnswered({ ...x, inc: 4 }), false);
    contacts.reset();
    assert.equal(contacts.hasAnswered(x), false);
    assert.equal(answersAt('tcp://elsewhere', 10).hasAnswered(x), false);
    assert.equal(answersAt(X_AT, 1000).hasAnswered(x), false);
    assert.equal(stageOf().contacts.hasAnswered(x), false);
  });
});
