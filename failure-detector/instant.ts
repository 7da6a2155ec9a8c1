// A reading of both clocks at one moment. The monotonic clock stands still while a machine is
// suspended, the wall clock can be set back, so each alone can hide time that has passed. Where
// believing that too little has passed would break a promise (leases, an agent's own stall), the
// larger of the two counts; all other times are monotonic alone.

/** One moment, as read by the caller. */
export interface Instant {
  /** Monotonic clock, milliseconds from any origin. */
  readonly mono: number;
  /** Wall clock, Unix milliseconds. */
  readonly wall: number;
}

/**
 * Milliseconds from one moment to a later one by whichever clock saw more; never negative. A wall
 * clock set forwards makes it too large, which costs a lease and no more. It is too small only if
 * a machine is suspended and its wall clock set back by as much.
 */
export function elapsedMs(from: Instant, to: Instant): number {
  return Math.max(0, to.mono - from.mono, to.wall - from.wall);
}
