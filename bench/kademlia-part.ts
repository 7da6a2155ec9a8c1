// The input and the result of each part of `kademlia.ts`.

import { whole, wholes } from './flags.ts';
import type { PartResult } from './parts.ts';

/** With the defaults of the config, except that a bench waits less for lost agents. */
export const overlayFlags = {
  ...{ ids: whole(4, 1, 16), neighbourhood: whole(5, 4, 32), bucket: whole(20, 1, 64) },
  backups: whole(1, 0, 8),
};

export const sizeFlags = {
  /** Sizes of the simulated clusters. */
  agents: wholes([64, 256], 8, 20_000),
  /** Larger ones are simulated without cores and stores. */
  whole: whole(1024, 0, 20_000),
  /** Larger ones start with agents that know each other, as after a restart. */
  grown: whole(64, 0, 20_000),
  /** Hosts of each simulated agent, and pages of each host. */
  ...{ hosts: whole(2, 1, 100), pages: whole(6, 2, 1000) },
  /** Hosts to which the pages of one host link; 0: any. */
  partners: whole(0, 0, 1000),
};

export interface KademliaGiven {
  readonly agents: readonly number[];
  readonly whole: number;
  readonly grown: number;
  readonly hosts: number;
  readonly pages: number;
  readonly partners: number;
  readonly ids: number;
  readonly neighbourhood: number;
  readonly bucket: number;
  readonly backups: number;
  readonly minutes: number;
  /** Seconds between two joins. */
  readonly every: number;
  readonly runs: number;
  readonly seed: number;
}

export interface KademliaPart extends PartResult {
  /** SVG images. */
  readonly charts: readonly string[];
  /** Sentences about the bounds and whether they hold. */
  readonly remarks: readonly string[];
}
