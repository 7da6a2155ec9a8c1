// Which relay a message takes if the direct path is not confirmed: one that both ends report to
// hear, or else each in turn, separately for each message type.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Outbound } from '../../../../agent/core/membership/outbound.ts';
import { FullView, type Overlay } from '../../../../agent/core/membership/overlay.ts';
import { type Member, View } from '../../../../agent/core/membership/view.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';
import type { Message } from '../../../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../../../agent/core/protocol/settings.ts';

const heartbeat = { type: 'HEARTBEAT' } as Message;
const rows = { type: 'ROWS' } as Message;

function stageOf(overlay: Pick<Overlay, 'via'>) {
  const own = { id: 'me', capacity: 1, address: 'tcp://me', digest: (text: string) => text };
  const settings = own as CoreSettings;
  const view = new View({ ...settings, build: () => assert.fail('nothing is placed') });
  const effects = new Effects();
  const outbound = new Outbound(settings, effects, view, overlay);
  return { view, effects, outbound };
}

function cluster() {
  const { view, effects, outbound } = stageOf(new FullView());
  const [to, a, b] = ['to', 'a', 'b'].map((id) => {
    const news = { id, inc: 1, capacity: 1, address: `tcp://${id}`, counter: 1 };
    return view.add({ ...news, joined: true, direct: true }, 0);
  }) as [Member, Member, Member];
  /** The relays of the message to `to`. */
  const relays = (message: Message) => {
    outbound.toMember(to, message);
    const sent = effects.take().filter((effect) => effect.type === 'send');
    return sent.flatMap((s) => (s.envelope.message.type === 'RELAY' ? [s.to.id] : []));
  };
  /** Sets the agents that `by` reports to hear directly. */
  const says = (by: Member, hears: readonly string[]) => {
    const news = new Map(hears.map((id) => [id, { inc: 1, counter: 1, direct: true }]));
    by.lastHeartbeat = { counter: 1, idle: false, idleSince: 0, viewHash: '', news };
  };
  return { to, a, b, relays, says };
}

describe('relays', () => {
  it('a member that hears this agent gets its messages directly', () => {
    const { relays } = cluster();
    assert.deepEqual(relays(heartbeat), []);
  });

  it('without reports, each relay is used in turn, for each message type', () => {
    const { to, relays } = cluster();
    to.hearsMe = false;
    to.silent = true;
    const ways = [1, 2].map(() => [relays(heartbeat), relays(rows)]);
    for (const type of [0, 1]) {
      assert.deepEqual(new Set(ways.flatMap((way) => way[type]!)), new Set(['a', 'b']));
    }
  });

  it('uses the relay that the destination hears, unless its heartbeats have stopped', () => {
    const { to, b, relays, says } = cluster();
    to.hearsMe = false;
    says(to, ['a']);
    says(b, ['to']);
    assert.deepEqual([relays(rows), relays(rows)], [['a'], ['a']]);
    to.silent = true;
    assert.deepEqual([relays(rows), relays(rows)], [['b'], ['b']]);
  });

  it('a message is not relayed if no member can relay it', () => {
    const { to, a, b, relays } = cluster();
    for (const member of [to, a, b]) member.hearsMe = false;
    assert.deepEqual(relays(heartbeat), []);
  });
});

describe('an agent outside the view', () => {
  const far = { id: 'far', inc: 7, capacity: 1, address: 'tcp://far' };
  const via = { ...far, id: 'via', inc: 3 };
  const relaysTo = (overlay: Pick<Overlay, 'via'>) => {
    const { outbound, effects } = stageOf(overlay);
    outbound.toCard(far, rows);
    const sent = effects.take().filter((effect) => effect.type === 'send');
    return sent.map(({ envelope: { to, message } }) => {
      return message.type === 'RELAY' ? [to.id, to.inc, message.to, message.sender] : [to.id];
    });
  };

  it('gets messages also over the agent through which it is reached, with how to answer', () => {
    const sender = { capacity: 1, address: 'tcp://me' };
    const relayed = relaysTo({ via: (id) => (id === 'far' ? via : null) });
    assert.deepEqual(relayed, [['via', 3, 'far', sender], ['far']]);
  });

  it('gets them only directly if it is not known to need another', () => {
    assert.deepEqual(relaysTo(new FullView()), [['far']]);
  });
});

describe('links to addresses', () => {
  it('are permanent only if the config or the view has the address', () => {
    const configured = [{ id: 'b', address: 'tcp://b' }];
    const settings = { id: 'me', configured, digest: (text: string) => text };
    const view = new View({ ...settings, capacity: 1, build: () => assert.fail('not placed') });
    const news = { id: 'c', inc: 1, capacity: 1, address: 'tcp://c', counter: 1 };
    view.add({ ...news, joined: true, direct: true }, 0);
    const effects = new Effects();
    const none = new FullView();
    const outbound = new Outbound(settings as unknown as CoreSettings, effects, view, none);
    const isBrief = (id: string, address: string) => {
      outbound.toAddress({ id, address }, heartbeat);
      return effects.take().map((effect) => effect.type === 'send' && (effect.brief ?? false));
    };
    assert.deepEqual(isBrief('b', 'tcp://b'), [false]);
    assert.deepEqual(isBrief('c', 'tcp://c'), [false]);
    // The address of another agent, a wrong address of a member, and an unknown address.
    assert.deepEqual(isBrief('x', 'tcp://b'), [true]);
    assert.deepEqual(isBrief('c', 'tcp://x'), [true]);
    assert.deepEqual(isBrief('x', 'tcp://x'), [true]);
  });
});
