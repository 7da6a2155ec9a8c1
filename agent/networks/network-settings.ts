// The settings and dependencies that all parts of the protocol between networks share.

import type { Sha256 } from './digests.ts';
import type { Pools } from './pools.ts';

export interface NetworkSettings {
  /** The name of this agent's network. */
  readonly network: string;
  /** The names of all networks, this one too. */
  readonly networks: readonly string[];
  /** The number of seeds of this network. */
  readonly seeds: number;
  readonly onTimeout: 'proceed' | 'wait';
  readonly timeoutMs: number;
  /** Digests in a frame at most. */
  readonly batch: number;
  readonly leaseMs: number;
}

export interface NetworkParts {
  readonly settings: NetworkSettings;
  readonly agent: string;
  /** The agent and its incarnation: `agent.incarnation`. */
  readonly token: string;
  readonly pools: ReadonlyMap<string, Pools>;
  readonly sha256: Sha256;
  /** Names the process of the own Redis; it changes when that has restarted or is another one. */
  readonly serverRun?: () => string;
  /** Whether this turn has time for more. Without it, a turn does all that there is. */
  readonly slice?: { begin(): void; mayGoOn(): boolean };
  /** A call to Redis has ended: `pump` is to be called. */
  readonly wake: () => void;
  /** A call to Redis has failed. It is repeated. */
  readonly onError: (error: unknown) => void;
}
