// Asserts that work takes time in proportion to its input, on a machine of any speed and load. It
// compares the processor time of one input with that of sixteen inputs of a sixteenth of its size.

import assert from 'node:assert/strict';

const PARTS = 16;
/** The ratio is 1 for linear cost, and 16 for quadratic cost. */
const RATIO_MAX = 6;
/** Far less than quadratic cost would take, and several times the error of the clock. */
const NOTHING_MS = 25;
const RUNS = 3;

/**
 * @param work - called with the size of its input
 * @param size - the size of the larger input
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

/**
 * Milliseconds of this thread's processor time: the least of some runs, because it has the least
 * disturbance.
 */
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
