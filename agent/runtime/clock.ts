// The system clock; no other file reads it. `mono` starts as Unix milliseconds and then follows the
// monotonic clock since the process start, so changes of the wall clock do not affect delays, waits
// or stored times. Compared with it, `wall` shows whether the machine was suspended.

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
