// The set-up that `directives.test.ts` and `slow/directives.test.ts` share.

import fc from 'fast-check';
import { type DirectiveStore, Directives } from '../../../../agent/core/protocol/directives.ts';
import type { Directive } from '../../../../agent/core/protocol/messages.ts';

export const order: fc.Arbitrary<Directive> = fc.record({
  kind: fc.constantFrom('pause', 'block', 'delay'),
  host: fc.constantFrom('', 'h1.test', 'h2.test'),
  value: fc.option(fc.nat(3)),
  n: fc.nat(4),
  by: fc.constantFrom('a1', 'a2', 'a3'),
});
export const orders = fc.array(order, { maxLength: 12 });

/** A store that keeps nothing. */
export const nowhere: DirectiveStore = {
  directives: () => [],
  saveDirective() {},
  dropDirective() {},
};

export function agent(id = 'a1', store = nowhere): Directives {
  return new Directives({ id, delayMs: () => 100, digest: (text) => text, store });
}
