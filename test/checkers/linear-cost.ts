// Whether work costs time in proportion to its input, on a machine of any speed and with any load: the
// processor time of one input is compared with that of sixteen inputs of a sixteenth of its size.

import assert from 'node:assert/strict';

const PARTS = 16;
/** In proportion the ratio is 1, and with the square of the input 16. */
const RATIO_MAX = 6;
/** Far less than the square of the inputs costs, and several times what the clock is off by. */
const NOTHING_MS = 25;
const RUNS = 3;

/**
 * @param work - called with the size of its input
 * @param size - of the larger input
 */
export function assertLinear(what: string, work: (size: number) => void, size: number): void {
  const whole = leastMs(() => work(size));
  if (whole < NOTHING_MS) return;
  const parts = leastMs(() => {
    for (let part = 0; part < PARTS; part++) work(Math.floor(size / PARTS));
  });
  const text = `${what}: ${whole.toFixed(1)} ms as a whole, ${parts.toFixed(1)} ms in ${PARTS} parts`;
  assert.ok(whole <= RATIO_MAX * Math.max(parts, NOTHING_MS), text);
}

/** Milliseconds of this thread's processor time: the least of some runs, as others disturb less. */
function leastMs(work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && least >= NOTHING_MS; run++) {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
