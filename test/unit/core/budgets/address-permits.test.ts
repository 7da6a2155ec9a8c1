// The requesting side of address permits by itself: hosts of one server share one queue, and each
// connects to the server at its own address.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressPermits } from '../../../../agent/core/budgets/address-permits.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';

const at = (mono: number) => ({ mono, wall: mono });
const server = '192.0.2.7';
const translated = '64:ff9b::c000:207';

/**
 * One agent that asks the first of the owners for every address, by default itself.
 *
 * @returns `asks`: its SLOT_ASK messages; `mistaken`: the names whose owner it gave up
 */
function asking(owners = [{ id: 'a1', inc: 1 }]) {
  const mistaken: string[] = [];
  const woken: string[] = [];
  const asks: { readonly address: string; readonly slot: number; readonly ask: number }[] = [];
  const effects = new Effects();
  const permits = new AddressPermits({
    settings: { heartbeatMs: 100, ipDelayMs: 1000, suspectAfterMs: 2000 },
    effects,
    ownerOf: () => owners[0] ?? null,
    notOwner: (name) => {
      mistaken.push(name);
      if (owners.length > 1) owners.shift();
    },
    tell: (_, message) => {
      if (message.type === 'SLOT_ASK') asks.push(message);
    },
    recheck: () => {},
    wake: (host) => woken.push(host),
  });
  /** The hosts resolved since the last call, each with its current address. */
  const lookups = () =>
    effects.take().flatMap((e) => (e.type === 'resolve' ? [[e.host, e.current]] : []));
  return { permits, asks, woken, lookups, mistaken };
}

test('address permits: hosts with different addresses of one server share one queue', () => {
  const { permits, asks, woken } = asking();
  for (const host of ['four.test', 'six.test']) permits.enter(host, at(0));
  permits.onResolved('four.test', { address: server, dial: server }, at(1));
  permits.onResolved('six.test', { address: server, dial: translated }, at(2));
  assert.deepEqual(permits.enter('six.test', at(3)), { kind: 'queued' });
  assert.equal(asks.length, 1, 'the second host requests no permit');
  permits.onGrant('a1', { ...asks[0]!, forMs: 200 }, at(10));
  assert.deepEqual(permits.enter('four.test', at(11)), { kind: 'go', address: server });
  permits.started('four.test', 1);
  permits.ended({ id: 1, host: 'four.test' }, 50, at(50));
  assert.deepEqual(woken, ['six.test']);
  permits.enter('six.test', at(60));
  permits.onResolved('six.test', { address: server, dial: translated }, at(61));
  assert.equal(asks[1]?.address, server, 'the permit is for the server');
  permits.onGrant('a1', { ...asks[1]!, forMs: 2000 }, at(1100));
  assert.deepEqual(permits.enter('six.test', at(1101)), { kind: 'go', address: translated });
});

test('address permits: another agent is asked if one is not the owner, or does not answer', () => {
  const { permits, asks, mistaken } = asking([1, 2, 3].map((n) => ({ id: `a${n}`, inc: 1 })));
  permits.enter('h.test', at(0));
  permits.onResolved('h.test', { address: server, dial: server }, at(0));
  permits.onGrant('a2', { ...asks[0]!, forMs: 0 }, at(1));
  assert.deepEqual(mistaken, [], 'it was not asked');
  permits.onGrant('a1', { ...asks[0]!, forMs: 0 }, at(1));
  assert.deepEqual(mistaken, [`ip:${server}`]);
  permits.pump(at(2));
  assert.equal(asks.length, 2, 'the second is asked');
  for (let now = 101; now <= 2001; now += 100) permits.pump(at(now));
  assert.equal(mistaken.length, 1);
  permits.pump(at(2051));
  assert.equal(mistaken.length, 2, 'it has not answered');
  permits.pump(at(2052));
  permits.onGrant('a3', { ...asks.at(-1)!, forMs: 200 }, at(2010));
  assert.deepEqual(permits.enter('h.test', at(2011)), { kind: 'go', address: server });
  for (let now = 2020; now < 9000; now += 100) permits.pump(at(now));
  assert.equal(mistaken.length, 2, 'the owner of a granted permit is not in question');
});

test('address permits: hosts at different addresses do not wait for one another', () => {
  const { permits, asks } = asking();
  for (const [k, host] of ['a.test', 'b.test'].entries()) {
    permits.enter(host, at(0));
    const address = `192.0.2.${k}`;
    permits.onResolved(host, { address, dial: address }, at(1));
  }
  assert.deepEqual(
    asks.map(({ address }) => address),
    ['192.0.2.0', '192.0.2.1'],
  );
});

test('address permits: a short grant is renewed before it ends', () => {
  const { permits, asks } = asking();
  permits.enter('h.test', at(0));
  permits.onResolved('h.test', to(server), at(0));
  permits.onGrant('a1', { ...asks[0]!, forMs: 30 }, at(1));
  permits.enter('h.test', at(2));
  permits.started('h.test', 1);
  for (let now = 5; now <= 500; now += 5) {
    permits.pump(at(now));
    // The owner answers after one round trip, until its own lease is renewed.
    permits.onGrant('a1', { ...asks.at(-1)!, forMs: 30 }, at(now + 4));
    assert.ok(permits.mayGoOn('h.test', at(now + 4)), `after ${now + 4} ms`);
  }
});

const other = '192.0.2.8';
const to = (address: string) => ({ address, dial: address });

/** `first.test` has the permit of the server, and `second.test` is queued behind it. */
function inLine() {
  const asked = asking();
  const { permits, asks, lookups } = asked;
  for (const host of ['first.test', 'second.test']) {
    permits.enter(host, at(0));
    permits.onResolved(host, to(server), at(1));
  }
  permits.onGrant('a1', { ...asks[0]!, forMs: 200 }, at(10));
  assert.equal(permits.enter('first.test', at(11)).kind, 'go');
  permits.started('first.test', 1);
  lookups();
  return asked;
}

test('address permits: resolves a host again at its turn, and keeps its place in the queue', () => {
  const { permits, asks, lookups } = inLine();
  permits.ended({ id: 1, host: 'first.test' }, 50, at(50));
  assert.deepEqual(permits.enter('second.test', at(900_000)), { kind: 'wait' });
  assert.deepEqual(lookups(), [['second.test', server]]);
  assert.equal(asks.length, 1, 'no permit is requested for an old address');
  permits.enter('third.test', at(900_001));
  permits.onResolved('third.test', to(server), at(900_002));
  assert.equal(permits.enter('third.test', at(900_003)).kind, 'queued');
  assert.deepEqual(permits.enter('second.test', at(900_004)), { kind: 'wait' });
  permits.onResolved('second.test', to(server), at(900_005));
  permits.onGrant('a1', { ...asks[1]!, forMs: 200 }, at(900_006));
  const entry = permits.enter('second.test', at(900_007));
  assert.deepEqual(entry, { kind: 'go', address: server });
});

test('address permits: a host that moved leaves the old queue for that of its new address', () => {
  const { permits, asks, woken } = inLine();
  permits.enter('third.test', at(2));
  permits.onResolved('third.test', to(server), at(3));
  permits.ended({ id: 1, host: 'first.test' }, 50, at(50));
  permits.enter('second.test', at(60));
  permits.onResolved('second.test', to(other), at(61));
  assert.deepEqual(woken, ['second.test', 'third.test']);
  assert.equal(asks.at(-1)?.address, other);
  permits.onGrant('a1', { ...asks.at(-1)!, forMs: 200 }, at(62));
  assert.deepEqual(permits.enter('second.test', at(63)), { kind: 'go', address: other });
});

test('address permits: a queued host whose name no longer resolves frees its place', () => {
  const { permits, woken } = inLine();
  permits.enter('third.test', at(2));
  permits.onResolved('third.test', to(server), at(3));
  permits.ended({ id: 1, host: 'first.test' }, 50, at(50));
  permits.enter('second.test', at(60));
  permits.onResolved('second.test', null, at(61));
  assert.deepEqual(permits.enter('second.test', at(62)), { kind: 'go', address: null });
  assert.deepEqual(woken, ['second.test', 'third.test']);
});

/** A permit that is granted 20 s after the name was resolved. */
function grantedLate() {
  const asked = asking();
  const { permits, asks, lookups } = asked;
  permits.enter('a.test', at(0));
  permits.onResolved('a.test', to(server), at(1));
  permits.pump(at(20_000));
  lookups();
  permits.onGrant('a1', { ...asks.at(-1)!, forMs: 2000 }, at(20_001));
  assert.deepEqual(permits.enter('a.test', at(20_002)), { kind: 'wait' });
  assert.deepEqual(lookups(), [['a.test', server]]);
  assert.deepEqual(permits.enter('a.test', at(20_003)), { kind: 'wait' });
  assert.deepEqual(lookups(), [], 'the name is resolved once');
  return asked;
}

test('address permits: uses a late permit if the name still has its address', () => {
  const { permits, asks } = grantedLate();
  const askedBefore = asks.length;
  permits.onResolved('a.test', to(server), at(20_004));
  assert.deepEqual(permits.enter('a.test', at(20_005)), { kind: 'go', address: server });
  assert.equal(asks.length, askedBefore);
});

test('address permits: drops a late permit if the host has moved', () => {
  const { permits, asks } = grantedLate();
  permits.onResolved('a.test', to(other), at(20_004));
  assert.deepEqual(permits.enter('a.test', at(20_005)), { kind: 'wait' });
  assert.equal(asks.at(-1)?.address, other);
  permits.onGrant('a1', { ...asks.at(-1)!, forMs: 2000 }, at(20_006));
  assert.deepEqual(permits.enter('a.test', at(20_007)), { kind: 'go', address: other });
});

test('address permits: a silent owner is given up although permits are given up before', () => {
  const { permits, asks, mistaken } = asking([1, 2].map((n) => ({ id: `a${n}`, inc: 1 })));
  // The host returns its page token if it waits for longer, and then waits for neither limit.
  for (let now = 0; now < 2000; now += 300) {
    permits.enter('h.test', at(now));
    permits.onResolved('h.test', to(server), at(now));
    permits.leave('h.test', at(now + 200));
  }
  assert.deepEqual(mistaken, []);
  permits.enter('h.test', at(2100));
  permits.onResolved('h.test', to(server), at(2100));
  assert.deepEqual(mistaken, [`ip:${server}`]);
  permits.pump(at(2101));
  permits.onGrant('a2', { ...asks.at(-1)!, forMs: 200 }, at(2110));
  assert.deepEqual(permits.enter('h.test', at(2111)), { kind: 'go', address: server });
});

test('address permits: an owner counts as silent only while it is asked', () => {
  const { permits, mistaken } = asking();
  for (let now = 0; now <= 20_000; now += 2500) {
    permits.enter('h.test', at(now));
    permits.onResolved('h.test', to(server), at(now));
    permits.leave('h.test', at(now + 200));
  }
  assert.deepEqual(mistaken, []);
});

test('address permits: an owner that a long look-up finds again is asked', () => {
  const owner = { id: 'a2', inc: 1 };
  const owners: { id: string; inc: number }[] = [owner];
  const { permits, asks, mistaken } = asking(owners);
  permits.enter('h.test', at(0));
  permits.onResolved('h.test', { address: server, dial: server }, at(0));
  for (let ms = 100; ms <= 2000; ms += 100) permits.pump(at(ms));
  assert.equal(mistaken.length, 1, 'it has not answered');
  owners.length = 0;
  for (let ms = 2000; ms < 6000; ms += 100) permits.pump(at(ms));
  owners.push(owner);
  const before = asks.length;
  permits.pump(at(6000));
  assert.equal(asks.length, before + 1);
  assert.equal(mistaken.length, 1);
});
