// How a state file is used.

import type { TailBounds } from './rows/event-tails.ts';
import type { ConfigDelays } from './tables/config-delays.ts';

/** What a commit survives: a power failure, or only the end of the process. */
export type Durability = 'power' | 'process';

export interface StoreOptions extends ConfigDelays {
  readonly durability: Durability;
  /** The simulator and tests use smaller bounds. */
  readonly tails?: TailBounds;
  /** Other networks crawl the same URLs, so new ones wait for a verdict (docs/NETWORKS.md). */
  readonly isShared?: boolean;
  /** A hash of the settings that decide which links of a page are followed. */
  readonly linkRules?: string;
}
