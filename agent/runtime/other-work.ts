// A pause for everything else the loop has to do, for work that would hold it up if it were done in
// one go. Awaited between pieces of some milliseconds each.

import { setImmediate } from 'node:timers/promises';

/** Resolves once the loop has been round: I/O and timers that were due have had their turn. */
export function otherWork(): Promise<void> {
  return setImmediate();
}
