// A time slice. Work that can continue in the next turn stops when its slice has passed, so that
// other work of the event loop can run.

import { monotonicMs } from './clock.ts';

/**
 * Length of a slice in milliseconds, the same as the limit for the inputs of a turn. Heartbeats
 * wait for at most two or three slices.
 */
const SLICE_MS = 10;

export function turnSlice(nowMs: () => number = monotonicMs) {
  let end = 0;
  return {
    begin: () => {
      end = nowMs() + SLICE_MS;
    },
    mayGoOn: () => nowMs() < end,
  };
}
