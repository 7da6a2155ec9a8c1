// The operator's orders as replicated state: copies merged in any order, grouping and number end
// the same, and what is known survives the process.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Order } from '../../../agent/core/messages.ts';
import { ORDERS_MAX, Orders } from '../../../agent/core/orders.ts';
import { openInMemory } from '../../../agent/storage/database.ts';
import { OrderTable } from '../../../agent/storage/order-table.ts';

const order: fc.Arbitrary<Order> = fc.record({
  kind: fc.constantFrom('pause', 'block', 'delay'),
  host: fc.constantFrom('', 'h1.test', 'h2.test'),
  value: fc.option(fc.nat(3)),
  n: fc.nat(4),
  by: fc.constantFrom('a1', 'a2', 'a3'),
});
const orders = fc.array(order, { maxLength: 12 });

function agent(id = 'a1', store = new OrderTable(openInMemory())): Orders {
  return new Orders({ id, delayMs: () => 100, digest: (text) => text, store });
}

function merged(...lists: (readonly Order[])[]): Orders {
  const all = agent();
  for (const list of lists) all.merge(list);
  return all;
}

describe('orders: merging', () => {
  it('orders: does not depend on the order in which they come', () => {
    fc.assert(
      fc.property(orders, orders, (a, b) => {
        assert.equal(merged(a, b).hash(), merged(b, a).hash());
      }),
    );
  });

  it('orders: does not depend on how they are grouped on the way', () => {
    fc.assert(
      fc.property(orders, orders, orders, (a, b, c) => {
        const left = merged(merged(a, b).all(), c);
        const right = merged(a, merged(b, c).all());
        assert.equal(left.hash(), right.hash());
      }),
    );
  });

  it('orders: hearing the same again changes nothing', () => {
    fc.assert(
      fc.property(orders, (a) => {
        const once = merged(a);
        const before = once.hash();
        assert.deepEqual(once.merge(a), []);
        assert.equal(once.hash(), before);
      }),
    );
  });

  it('orders: what a newer life reads is what the former knew', () => {
    fc.assert(
      fc.property(orders, (a) => {
        const store = new OrderTable(openInMemory());
        const former = agent('a1', store);
        former.merge(a);
        assert.equal(agent('a1', store).hash(), former.hash());
      }),
    );
  });
});

describe('orders: meaning', () => {
  it('orders: a word given is later than every word heard', () => {
    fc.assert(
      fc.property(orders, fc.constantFrom('a0', 'a9'), (a, id) => {
        const here = agent(id);
        here.merge(a);
        const given = here.give({ kind: 'block', host: 'h1.test', value: 1 });
        assert.ok(given);
        const there = merged(a);
        there.merge([given]);
        assert.equal(there.blocks('h1.test'), true);
      }),
    );
  });

  it('orders: pause, block and delay hold until they are taken back', () => {
    const a = agent();
    assert.deepEqual([a.paused, a.blocks('h'), a.delayOf('h')], [false, false, 100]);
    a.give({ kind: 'pause', host: '', value: 1 });
    a.give({ kind: 'block', host: 'h', value: 1 });
    a.give({ kind: 'delay', host: 'h', value: 0 });
    assert.deepEqual([a.paused, a.blocks('h'), a.delayOf('h')], [true, true, 0]);
    assert.deepEqual([a.blocks('other'), a.delayOf('other')], [false, 100]);
    a.give({ kind: 'pause', host: '', value: null });
    a.give({ kind: 'block', host: 'h', value: null });
    a.give({ kind: 'delay', host: 'h', value: null });
    assert.deepEqual([a.paused, a.blocks('h'), a.delayOf('h')], [false, false, 100]);
  });

  it('orders: there is a limit to new ones, none to changing those that are', () => {
    const a = agent();
    for (let k = 0; k < ORDERS_MAX; k++) a.give({ kind: 'block', host: `h${k}`, value: 1 });
    assert.equal(a.give({ kind: 'block', host: 'more', value: 1 }), null);
    assert.ok(a.give({ kind: 'block', host: 'h0', value: null }));
    assert.equal(a.blocks('h0'), false);
  });
});
