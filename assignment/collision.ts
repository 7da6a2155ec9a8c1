// Finds two agents that have a ring point in common. Both would be nearest to the hosts around it,
// so such a pair is refused. With 64-bit points this practically never happens by chance. A point
// that one agent has twice is harmless.

import type { RingMember } from './assignment.ts';
import { buildCircle } from './circle.ts';
import type { RingOptions } from './ring-points.ts';

/** `a` sorts before `b`. */
export interface Collision {
  readonly point: bigint;
  readonly a: string;
  readonly b: string;
}

/** The collision at the lowest point, or null. Throws if two members have the same identifier. */
export function findCollision(
  members: readonly RingMember[],
  options: RingOptions,
): Collision | null {
  const { ids, places, agents } = buildCircle(members, options);
  for (let i = 1; i < places.length; i++) {
    if (places[i] !== places[i - 1] || agents[i] === agents[i - 1]) continue;
    return { point: places[i]!, a: ids[agents[i - 1]!]!, b: ids[agents[i]!]! };
  }
  return null;
}
