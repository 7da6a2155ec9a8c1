// A member as the neighbourhood sees it.

import type { Key } from '../../assignment/identifiers.ts';

export type NeighbourId = string;

/** A member, as its last message described it. */
export interface Neighbour {
  readonly id: NeighbourId;
  readonly identifiers: readonly Key[];
  readonly joined: boolean;
  /** For each of its identifiers, the length of the region that it watches; absent: unknown. */
  readonly regions: readonly number[];
  /** The same for the region that it knows completely. */
  readonly complete: readonly number[];
}
