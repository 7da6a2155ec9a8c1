// The points of all agents in one sorted array. Agents are numbered in the order of their
// identifiers, so comparing two numbers breaks a tie as comparing the identifiers would.

import { type RingMember, sortedMembers } from './assignment.ts';
import { type RingOptions, RingPoints } from './ring-points.ts';

/** Points in ascending order; equal points are ordered by agent identifier. */
export interface Circle {
  /** Identifiers in code-unit order; an agent's number is its index. */
  readonly ids: readonly string[];
  readonly places: BigUint64Array;
  /** Number of the agent at the same index of `places`. */
  readonly agents: Uint32Array;
}

/**
 * Throws if two members have the same identifier.
 *
 * @param options - a `RingPoints` is reused, so that its points are computed once
 */
export function buildCircle(members: readonly RingMember[], options: RingOptions): Circle {
  const points = options instanceof RingPoints ? options : new RingPoints(options);
  const sorted = sortedMembers(members);
  const drawn = sorted.map((member) => points.points(member.id, member.capacity));
  const total = drawn.reduce((sum, of) => sum + of.length, 0);
  const unsorted = { places: new BigUint64Array(total), agents: new Uint32Array(total) };
  let at = 0;
  for (const [agent, of] of drawn.entries()) {
    unsorted.places.set(of, at);
    unsorted.agents.fill(agent, at, at + of.length);
    at += of.length;
  }
  const ranks = ranksOf(unsorted.places);
  return {
    ids: sorted.map((member) => member.id),
    places: new BigUint64Array(total).map((_, i) => unsorted.places[ranks[i]!]!),
    agents: new Uint32Array(total).map((_, i) => unsorted.agents[ranks[i]!]!),
  };
}

/** Indices of the places in ascending order. The sort is stable. */
function ranksOf(places: BigUint64Array): Uint32Array {
  // Comparing doubles is several times faster than comparing bigints. Rounding never reverses an
  // order, so the exact places are needed only if the rounded ones are equal.
  const rounded = Float64Array.from(places, Number);
  return new Uint32Array(places.length)
    .map((_, i) => i)
    .sort((x, y) => {
      const difference = rounded[x]! - rounded[y]!;
      if (difference !== 0) return difference;
      if (places[x] === places[y]) return x - y;
      return places[x]! < places[y]! ? -1 : 1;
    });
}

/** Index of the first point at or after `place`; the number of points if there is none. */
export function firstAtOrAfter(places: BigUint64Array, place: bigint): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (places[middle]! < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
