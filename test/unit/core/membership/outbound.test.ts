// Which third agent a message takes where the straight path is not confirmed: by what both ends say,
// and where nothing is known each in turn, for each type of message by itself.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Outbound } from '../../../../agent/core/membership/outbound.ts';
import { type Member, View } from '../../../../agent/core/membership/view.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';
import type { Message } from '../../../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../../../agent/core/protocol/settings.ts';

const heartbeat = { type: 'HEARTBEAT' } as Message;
const rows = { type: 'ROWS' } as Message;

function cluster() {
  const settings = { id: 'me', capacity: 1, digest: (text: string) => text } as CoreSettings;
  const view = new View({ ...settings, build: () => assert.fail('nothing is placed') });
  const [to, a, b] = ['to', 'a', 'b'].map((id) => {
    const news = { id, inc: 1, capacity: 1, address: `tcp://${id}`, counter: 1 };
    return view.add({ ...news, joined: true, direct: true }, 0);
  }) as [Member, Member, Member];
  const effects = new Effects();
  const outbound = new Outbound(settings, effects, view);
  /** The agents over which the message went to `to`. */
  const relays = (message: Message) => {
    outbound.toMember(to, message);
    const sent = effects.take().filter((effect) => effect.type === 'send');
    return sent.flatMap((s) => (s.envelope.message.type === 'RELAY' ? [s.to.id] : []));
  };
  /** What `by` says of whom it hears straight. */
  const says = (by: Member, hears: readonly string[]) => {
    const news = new Map(hears.map((id) => [id, { inc: 1, counter: 1, direct: true }]));
    by.lastHeartbeat = { counter: 1, idle: false, idleSince: 0, viewHash: '', news };
  };
  return { to, a, b, relays, says };
}

describe('relays', () => {
  it('a member that hears this agent is spoken to straight', () => {
    const { relays } = cluster();
    assert.deepEqual(relays(heartbeat), []);
  });

  it('where nothing is known each relay has its turn, with every type of message', () => {
    const { to, relays } = cluster();
    to.hearsMe = false;
    to.silent = true;
    const ways = [1, 2].map(() => [relays(heartbeat), relays(rows)]);
    for (const type of [0, 1]) {
      assert.deepEqual(new Set(ways.flatMap((way) => way[type]!)), new Set(['a', 'b']));
    }
  });

  it('the relay that the destination hears is taken, unless it said so before it fell silent', () => {
    const { to, b, relays, says } = cluster();
    to.hearsMe = false;
    says(to, ['a']);
    says(b, ['to']);
    assert.deepEqual([relays(rows), relays(rows)], [['a'], ['a']]);
    to.silent = true;
    assert.deepEqual([relays(rows), relays(rows)], [['b'], ['b']]);
  });

  it('a message is not relayed where no member can relay it', () => {
    const { to, a, b, relays } = cluster();
    for (const member of [to, a, b]) member.hearsMe = false;
    assert.deepEqual(relays(heartbeat), []);
  });
});

describe('links to addresses', () => {
  it('last only where the config or the view has the address', () => {
    const configured = [{ id: 'b', address: 'tcp://b' }];
    const settings = { id: 'me', configured, digest: (text: string) => text };
    const view = new View({ ...settings, capacity: 1, build: () => assert.fail('not placed') });
    const news = { id: 'c', inc: 1, capacity: 1, address: 'tcp://c', counter: 1 };
    view.add({ ...news, joined: true, direct: true }, 0);
    const effects = new Effects();
    const outbound = new Outbound(settings as unknown as CoreSettings, effects, view);
    const isBrief = (id: string, address: string) => {
      outbound.toAddress({ id, address }, heartbeat);
      return effects.take().map((effect) => effect.type === 'send' && (effect.brief ?? false));
    };
    assert.deepEqual(isBrief('b', 'tcp://b'), [false]);
    assert.deepEqual(isBrief('c', 'tcp://c'), [false]);
    // The address of another, an address of its own for a member's name, and a stranger's.
    assert.deepEqual(isBrief('x', 'tcp://b'), [true]);
    assert.deepEqual(isBrief('c', 'tcp://x'), [true]);
    assert.deepEqual(isBrief('x', 'tcp://x'), [true]);
  });
});
