// Two agents with a point in common would both be nearest to the hosts around it, so such a pair
// is refused: when a config is loaded, and when an agent asks to join. With SHA-256 and 64-bit
// places it practically never happens by chance. A point that one agent drew twice is no
// collision: it leaves no doubt about whose it is.

import type { RingMember } from './assignment.ts';
import { buildCircle } from './circle.ts';
import { type RingOptions, RingPoints } from './ring-points.ts';

/** Two agents at one place; `a` comes before `b` by identifier. */
export interface Collision {
  readonly point: bigint;
  readonly a: string;
  readonly b: string;
}

/** The collision at the lowest place, or null. Throws where two members share an identifier. */
export function findCollision(
  members: readonly RingMember[],
  options: RingOptions,
): Collision | null {
  const points = options instanceof RingPoints ? options : new RingPoints(options);
  const { ids, places, agents } = buildCircle(members, points);
  for (let i = 1; i < places.length; i++) {
    if (places[i] !== places[i - 1] || agents[i] === agents[i - 1]) continue;
    return { point: places[i]!, a: ids[agents[i - 1]!]!, b: ids[agents[i]!]! };
  }
  return null;
}
