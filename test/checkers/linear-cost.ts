// Whether work costs time in proportion to its input, on a machine of any speed and with any load:
// the processor time of one input is compared with that of an input that is sixteen times as large.

import assert from 'node:assert/strict';

const FACTOR = 16;
/** In proportion the ratio is 16, and with the square of the input 256. */
const RATIO_MAX = 6 * FACTOR;
/** What costs less is linear whatever the ratio is: the square of the inputs would cost far more. */
const NOTHING_MS = 50;
const RUNS = 3;

/**
 * @param work - called with the size of its input
 * @param size - of the larger input
 */
export function assertLinear(what: string, work: (size: number) => void, size: number): void {
  const large = leastMs(() => work(size));
  if (large < NOTHING_MS) return;
  const small = leastMs(() => work(Math.floor(size / FACTOR)));
  const text = `${what}: ${large.toFixed(1)} ms, and ${small.toFixed(1)} ms for a sixteenth of it`;
  assert.ok(large <= RATIO_MAX * small, text);
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
