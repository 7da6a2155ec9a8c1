// The real clock, in the one place that may read it. `mono` reads like Unix milliseconds but is
// the monotonic clock since the process began, so no step of the wall clock touches delays, waits
// or stored times; `wall` is beside it for what must notice that the machine slept.

import type { Instant } from '../../failure-detector/instant.ts';

export interface Clock {
  now(): Instant;
}

export const systemClock: Clock = {
  now: () => ({ mono: monotonicMs(), wall: Date.now() }),
};

export function monotonicMs(): number {
  return performance.timeOrigin + performance.now();
}

export function wallMs(): number {
  return Date.now();
}
