// The state that the simulated cluster keeps of each agent: its process with the core and its open
// requests, its disk, and its requests as the web saw them. `cluster.ts` creates and changes it.

import type { Core } from '../../agent/core/core.ts';
import type { Effects, End, PageRequest } from '../../agent/core/protocol/effects.ts';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import type { Connection } from '../../agent/storage/encoding/connection.ts';
import type { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import type { SeenRequest } from '../checkers/evidence.ts';
import type { processOf } from './process.ts';
import type { Work } from './work.ts';

export interface Visit extends SeenRequest {
  /** When the web had answered, or when the connection was closed. */
  end: number;
  whole: boolean;
}

export interface OpenRequest {
  readonly request: PageRequest;
  visit: Visit | null;
  closed: boolean;
}

export interface Disk {
  readonly db: Connection;
  /** The disk as found after a power loss, or at its last copy. */
  image: Buffer | null;
  watched: boolean;
}

export interface Running {
  readonly id: AgentId;
  readonly store: SqliteStore;
  readonly effects: Effects;
  readonly core: Core;
  readonly work: Work;
  inputs: (() => void)[];
  stalledUntil: number;
  /** The agent wakes from a stall: timers run before it reads its sockets. */
  readsLater: boolean;
  alive: boolean;
  /** `view`: that of the agent, itself included. */
  end: (End & { at: number; view: readonly AgentId[] }) | null;
  readonly open: Map<number, OpenRequest>;
  /** Due time of the next turn. Earlier entries of the event heap are void. */
  turnAt: number;
  lastTurn: number;
}

/** A process before its first turn. */
export function justStarted(id: AgentId, parts: ReturnType<typeof processOf>): Running {
  return {
    id,
    ...parts,
    inputs: [],
    stalledUntil: 0,
    readsLater: false,
    alive: true,
    end: null,
    open: new Map(),
    turnAt: Infinity,
    lastTurn: 0,
  };
}
