// What the tests in `orders.test.ts` and in `slow/orders.test.ts` are run on.

import fc from 'fast-check';
import type { Order } from '../../../../agent/core/protocol/messages.ts';
import { type OrderStore, Orders } from '../../../../agent/core/protocol/orders.ts';

export const order: fc.Arbitrary<Order> = fc.record({
  kind: fc.constantFrom('pause', 'block', 'delay'),
  host: fc.constantFrom('', 'h1.test', 'h2.test'),
  value: fc.option(fc.nat(3)),
  n: fc.nat(4),
  by: fc.constantFrom('a1', 'a2', 'a3'),
});
export const orders = fc.array(order, { maxLength: 12 });

/** Where nobody reads them again. */
export const nowhere: OrderStore = { orders: () => [], saveOrder() {}, dropOrder() {} };

export function agent(id = 'a1', store = nowhere): Orders {
  return new Orders({ id, delayMs: () => 100, digest: (text) => text, store });
}
