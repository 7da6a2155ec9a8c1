// Measures elapsed time with two clocks. The monotonic clock stops while the machine is suspended,
// and the wall clock can be set back, so each alone can miss elapsed time. Leases and stalls must
// not miss any: they use the larger of the two differences. All other times are monotonic.

/** One reading of both clocks. */
export interface Instant {
  /** Monotonic clock, milliseconds from any origin. */
  readonly mono: number;
  /** Wall clock, Unix milliseconds. */
  readonly wall: number;
}

/**
 * Milliseconds by the clock that measured more; never negative. The result is too large after the
 * wall clock was set forward, which ends leases early or looks like a stall. It is too small only
 * if the machine was suspended and its wall clock was set back meanwhile.
 */
export function elapsedMs(from: Instant, to: Instant): number {
  return Math.max(0, to.mono - from.mono, to.wall - from.wall);
}
