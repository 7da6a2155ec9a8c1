// A pause for other work of the event loop. Long work awaits it between pieces of some
// milliseconds.

import { setImmediate } from 'node:timers/promises';

/** Resolves when due I/O and timers have been processed. */
export function otherWork(): Promise<void> {
  return setImmediate();
}
