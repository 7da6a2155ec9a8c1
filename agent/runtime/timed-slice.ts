// The slice of a turn by the real clock: work that can be continued in the next turn gives way to
// whatever else the loop has to do after so long.

import { monotonicMs } from './clock.ts';

/** As long as the inputs of a turn may take. Heartbeats wait for two or three of these at most. */
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
