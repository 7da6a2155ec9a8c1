// The asking side of an address's budget by itself: hosts that lead to one server stand in one line,
// and each is connected to by its own way there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Effects } from '../../../agent/core/effects.ts';
import { Slots } from '../../../agent/core/slots.ts';
import type { View } from '../../../agent/core/view.ts';

const at = (mono: number) => ({ mono, wall: mono });
const server = '192.0.2.7';
const translated = '64:ff9b::c000:207';

/** One agent that owns every budget; `asks` are its words to itself. */
function asking() {
  const woken: string[] = [];
  const asks: { readonly address: string; readonly slot: number; readonly ask: number }[] = [];
  const slots = new Slots({
    settings: { id: 'a1', heartbeatMs: 100, ipDelayMs: 1000 },
    view: { owner: () => 'a1' } as unknown as View,
    effects: new Effects(),
    inc: () => 1,
    tell: (_, message) => {
      if (message.type === 'SLOT_ASK') asks.push(message);
    },
    reconsider: () => {},
    wake: (host) => woken.push(host),
  });
  return { slots, asks, woken };
}

test('slots: hosts that lead to one server by different addresses have one line', () => {
  const { slots, asks, woken } = asking();
  for (const host of ['four.test', 'six.test']) slots.enter(host, at(0));
  slots.onResolved('four.test', { address: server, dial: server }, at(1));
  slots.onResolved('six.test', { address: server, dial: translated }, at(2));
  assert.deepEqual(slots.enter('six.test', at(3)), { kind: 'queued' });
  assert.equal(asks.length, 1, 'the second does not ask');
  slots.onGrant('a1', { ...asks[0]!, forMs: 200 }, at(10));
  assert.deepEqual(slots.enter('four.test', at(11)), { kind: 'go', address: server });
  slots.started('four.test', 1);
  slots.ended({ id: 1, host: 'four.test' }, 50, at(50));
  assert.deepEqual(woken, ['six.test']);
  slots.enter('six.test', at(60));
  assert.equal(asks[1]?.address, server, 'its owner is asked for the server');
  slots.onGrant('a1', { ...asks[1]!, forMs: 2000 }, at(1100));
  assert.deepEqual(slots.enter('six.test', at(1101)), { kind: 'go', address: translated });
});

test('slots: different addresses do not wait for one another', () => {
  const { slots, asks } = asking();
  for (const [k, host] of ['a.test', 'b.test'].entries()) {
    slots.enter(host, at(0));
    const address = `192.0.2.${k}`;
    slots.onResolved(host, { address, dial: address }, at(1));
  }
  assert.deepEqual(
    asks.map(({ address }) => address),
    ['192.0.2.0', '192.0.2.1'],
  );
});
