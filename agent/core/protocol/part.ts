// What `core.ts` asks of each part of the protocol. The core keeps the parts in one array, in the
// order in which they run in a turn, and each part implements the methods that it needs.

import type { Instant } from '../../../failure-detector/instant.ts';

export interface Part {
  /** A new incarnation begins: drops what concerned the one before. */
  reset?(now: Instant): void;
  /** The members have changed, or their places on the ring. */
  viewChanged?(now: Instant): void;
  /** Does what is due. Called once a turn. */
  pump?(now: Instant): void;
  /** Nothing is left to do, to send or to wait for: a condition of idleness. */
  readonly isQuiet?: boolean;
  /** The next piece of work is due at once. */
  readonly isBusy?: boolean;
}
