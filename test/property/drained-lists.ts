// The place of drained agents in preference lists, which is the same for both overlays.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Assignment, RingMember } from '../../assignment/assignment.ts';

/** Indices of the agents that are drained. */
export const drainedOnes = fc.uniqueArray(fc.integer({ min: 0, max: 8 }), { maxLength: 8 });

/** The agents with some of them drained, and those that take hosts. */
export function withDrainedOnes(of: readonly RingMember[], which: readonly number[]) {
  const mixed = of.map((one, i) => (which.includes(i) ? { ...one, capacity: 0 } : one));
  return { mixed, placed: mixed.filter(({ capacity }) => capacity > 0) };
}

/**
 * Drained agents are at the end of the list of a host, and the others as if those were not there.
 *
 * @param all - of all agents
 * @param some - of those that take hosts
 * @returns the list
 */
export function assertDrainedLast(
  host: string,
  [all, some]: readonly [Assignment, Assignment],
  { mixed, placed }: ReturnType<typeof withDrainedOnes>,
): readonly string[] {
  assert.equal(all.owner(host), some.owner(host));
  const order = all.order(host);
  assert.deepEqual(order.slice(0, placed.length), some.order(host));
  assert.equal(new Set(order).size, placed.length === 0 ? 0 : mixed.length);
  assert.deepEqual(all.order(host, 2), order.slice(0, 2));
  return order;
}
