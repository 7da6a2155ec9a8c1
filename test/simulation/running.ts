// What the simulated cluster keeps of each agent: its process with the core and what it has open, its
// disk, and its requests as the web saw them. Made and changed by `cluster.ts`.

import type { Core } from '../../agent/core/core.ts';
import type { Effects, PageRequest } from '../../agent/core/protocol/effects.ts';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import type { Connection } from '../../agent/storage/encoding/connection.ts';
import type { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import type { SeenRequest } from '../checkers/evidence.ts';
import type { Work } from './work.ts';

export interface Visit extends SeenRequest {
  /** When the web had answered, or saw the connection closed. */
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
  /** As it would be found after a loss of power, or when it was last copied. */
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
  /** It wakes from a standstill: timers come before what waits in its sockets. */
  readsLater: boolean;
  alive: boolean;
  /** `members`: who was in its view, itself included. */
  end: { code: number; reason: string; at: number; members: readonly AgentId[] } | null;
  readonly open: Map<number, OpenRequest>;
  /** When its next turn is due; earlier entries of the event heap are void. */
  turnAt: number;
  lastTurn: number;
}
