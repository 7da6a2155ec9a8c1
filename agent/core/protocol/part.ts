// The interface between `core.ts` and the parts of the protocol. The core keeps the parts in one
// array, in the order in which they run in a turn. Each part implements the methods that it needs.

import type { Instant } from '../../../failure-detector/instant.ts';

export interface Part {
  /** A new incarnation begins: drops the volatile state of the previous one. */
  reset?(now: Instant): void;
  /** The members, or their places on the ring, have changed. */
  viewChanged?(now: Instant): void;
  /** Does the work that is due. Called once a turn. */
  pump?(now: Instant): void;
  /** Nothing is left to do, to send or to wait for: a condition of idleness. */
  readonly isQuiet?: boolean;
  /** More work is due at once, in the next turn. */
  readonly isBusy?: boolean;
}
