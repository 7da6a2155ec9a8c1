// Agents with different settings: which PING is answered, and who is greeted.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OtherSettings } from '../../../../agent/core/membership/other-settings.ts';
import type { Message } from '../../../../agent/core/protocol/messages.ts';
import { partialView, viewStage } from './overlay-stage.ts';

const CONTACT = 'tcp://contact';

function stageOf(joined: boolean) {
  const { settings, view, outbound, sent } = viewStage([]);
  view.joined = joined;
  const [greeted, namesakes]: [string[], string[]] = [[], []];
  const other = new OtherSettings({
    ...{ settings, view, outbound },
    overlay: partialView({
      entries: {
        ...{ contacts: [CONTACT], others: ['tcp://earlier'], local: [], namesake: null },
        noteNamesake: (address) => namesakes.push(address),
      },
    }),
    membership: { greetOne: ({ id, address }) => greeted.push(`${id} ${address}`) },
  });
  const refused = (message: object, id = 'x') => {
    const envelope = { from: { id, inc: 3 }, to: { id: 'me', inc: 1 }, message };
    other.refused(envelope as unknown as Parameters<OtherSettings['refused']>[0]);
  };
  return { refused, sent, greeted, namesakes };
}
const ping = (address: string, answer: boolean): Partial<Message> => {
  return { type: 'PING', capacity: 1, address, fingerprintHash: 'other', answer };
};

describe('an agent with other settings', () => {
  it('gets an answer to its PING without the digest of the settings, and is not greeted', () => {
    for (const joined of [false, true]) {
      const { refused, sent, greeted } = stageOf(joined);
      refused(ping(CONTACT, false));
      const answer = { type: 'PING', capacity: 1, address: 'tcp://me', fingerprintHash: '' };
      assert.deepEqual(sent(), [[`x ${CONTACT}`, { ...answer, answer: true }]]);
      assert.deepEqual(greeted, []);
    }
  });

  it('is greeted if it answers at a contact of the config, before the join only', () => {
    const { refused, sent, greeted } = stageOf(false);
    refused(ping(CONTACT, true));
    assert.deepEqual(greeted, [`x ${CONTACT}`]);
    const late = stageOf(true);
    late.refused(ping(CONTACT, true));
    assert.deepEqual([sent(), late.greeted, late.sent()], [[], [], []]);
  });

  it('is not greeted elsewhere: its refusal would end this agent', () => {
    const { refused, sent, greeted } = stageOf(false);
    refused(ping('tcp://earlier', true));
    refused(ping('tcp://stranger', true));
    assert.deepEqual([sent(), greeted], [[], []]);
  });

  it('is answered and noted, but not greeted, if it has the identifier of this agent', () => {
    const { refused, sent, greeted, namesakes } = stageOf(false);
    refused(ping(CONTACT, true), 'me');
    assert.deepEqual([sent(), greeted, namesakes], [[], [], [CONTACT]]);
    refused(ping('tcp://twin', false), 'me');
    assert.equal(sent()[0]?.[0], 'me tcp://twin');
  });

  it('is ignored with all other messages', () => {
    const { refused, sent, greeted } = stageOf(false);
    refused({ ...ping(CONTACT, false), type: 'FIND_NODE', key: '' });
    refused({ ...ping(CONTACT, false), type: 'HEARTBEAT' });
    assert.deepEqual([sent(), greeted], [[], []]);
  });
});
