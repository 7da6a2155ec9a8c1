// The asking side of an address's budget by itself: hosts that lead to one server stand in one line,
// and each is connected to by its own way there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Slots } from '../../../../agent/core/budgets/slots.ts';
import type { View } from '../../../../agent/core/membership/view.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';

const at = (mono: number) => ({ mono, wall: mono });
const server = '192.0.2.7';
const translated = '64:ff9b::c000:207';

/** One agent that owns every budget; `asks` are its words to itself. */
function asking() {
  const woken: string[] = [];
  const asks: { readonly address: string; readonly slot: number; readonly ask: number }[] = [];
  const effects = new Effects();
  const slots = new Slots({
    settings: { id: 'a1', heartbeatMs: 100, ipDelayMs: 1000 },
    view: { owner: () => 'a1' } as unknown as View,
    effects,
    inc: () => 1,
    tell: (_, message) => {
      if (message.type === 'SLOT_ASK') asks.push(message);
    },
    reconsider: () => {},
    wake: (host) => woken.push(host),
  });
  /** The hosts looked up since the last call, each with the address it has. */
  const lookups = () =>
    effects.take().flatMap((e) => (e.type === 'resolve' ? [[e.host, e.current]] : []));
  return { slots, asks, woken, lookups };
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
  slots.onResolved('six.test', { address: server, dial: translated }, at(61));
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

const other = '192.0.2.8';
const to = (address: string) => ({ address, dial: address });

/** `first.test` has the slot of the server, `second.test` waits in line behind it. */
function inLine() {
  const asked = asking();
  const { slots, asks, lookups } = asked;
  for (const host of ['first.test', 'second.test']) {
    slots.enter(host, at(0));
    slots.onResolved(host, to(server), at(1));
  }
  slots.onGrant('a1', { ...asks[0]!, forMs: 200 }, at(10));
  assert.equal(slots.enter('first.test', at(11)).kind, 'go');
  slots.started('first.test', 1);
  lookups();
  return asked;
}

test('slots: a host whose turn in line comes is looked up again and keeps its place', () => {
  const { slots, asks, lookups } = inLine();
  slots.ended({ id: 1, host: 'first.test' }, 50, at(50));
  assert.deepEqual(slots.enter('second.test', at(900_000)), { kind: 'wait' });
  assert.deepEqual(lookups(), [['second.test', server]]);
  assert.equal(asks.length, 1, 'nothing is asked for an address that may be old');
  slots.enter('third.test', at(900_001));
  slots.onResolved('third.test', to(server), at(900_002));
  assert.equal(slots.enter('third.test', at(900_003)).kind, 'queued');
  assert.deepEqual(slots.enter('second.test', at(900_004)), { kind: 'wait' });
  slots.onResolved('second.test', to(server), at(900_005));
  slots.onGrant('a1', { ...asks[1]!, forMs: 200 }, at(900_006));
  const entry = slots.enter('second.test', at(900_007));
  assert.deepEqual(entry, { kind: 'go', address: server });
});

test('slots: a host that has moved joins the line of its new address and frees the old one', () => {
  const { slots, asks, woken } = inLine();
  slots.enter('third.test', at(2));
  slots.onResolved('third.test', to(server), at(3));
  slots.ended({ id: 1, host: 'first.test' }, 50, at(50));
  slots.enter('second.test', at(60));
  slots.onResolved('second.test', to(other), at(61));
  assert.deepEqual(woken, ['second.test', 'third.test']);
  assert.equal(asks.at(-1)?.address, other);
  slots.onGrant('a1', { ...asks.at(-1)!, forMs: 200 }, at(62));
  assert.deepEqual(slots.enter('second.test', at(63)), { kind: 'go', address: other });
});

test('slots: a host in line whose name leads nowhere any more frees its place', () => {
  const { slots, woken } = inLine();
  slots.enter('third.test', at(2));
  slots.onResolved('third.test', to(server), at(3));
  slots.ended({ id: 1, host: 'first.test' }, 50, at(50));
  slots.enter('second.test', at(60));
  slots.onResolved('second.test', null, at(61));
  assert.deepEqual(slots.enter('second.test', at(62)), { kind: 'go', address: null });
  assert.deepEqual(woken, ['second.test', 'third.test']);
});

/** A slot granted 20 s after the name was looked up. */
function grantedLate() {
  const asked = asking();
  const { slots, asks, lookups } = asked;
  slots.enter('a.test', at(0));
  slots.onResolved('a.test', to(server), at(1));
  slots.pump(at(20_000));
  lookups();
  slots.onGrant('a1', { ...asks.at(-1)!, forMs: 2000 }, at(20_001));
  assert.deepEqual(slots.enter('a.test', at(20_002)), { kind: 'wait' });
  assert.deepEqual(lookups(), [['a.test', server]]);
  assert.deepEqual(slots.enter('a.test', at(20_003)), { kind: 'wait' });
  assert.deepEqual(lookups(), [], 'it is looked up once');
  return asked;
}

test('slots: a slot granted long after the look-up is used when the name still leads there', () => {
  const { slots, asks } = grantedLate();
  const askedBefore = asks.length;
  slots.onResolved('a.test', to(server), at(20_004));
  assert.deepEqual(slots.enter('a.test', at(20_005)), { kind: 'go', address: server });
  assert.equal(asks.length, askedBefore);
});

test('slots: a slot granted long after the look-up is given back when the host has moved', () => {
  const { slots, asks } = grantedLate();
  slots.onResolved('a.test', to(other), at(20_004));
  assert.deepEqual(slots.enter('a.test', at(20_005)), { kind: 'wait' });
  assert.equal(asks.at(-1)?.address, other);
  slots.onGrant('a1', { ...asks.at(-1)!, forMs: 2000 }, at(20_006));
  assert.deepEqual(slots.enter('a.test', at(20_007)), { kind: 'go', address: other });
});
