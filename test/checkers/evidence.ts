// The evidence that checkers may use: requests as the web saw them, and the agents' state files.
// Both the simulated cluster and the chaos tests on real processes provide it, so one checker
// serves both. Every checker has its own file and returns the violations as lines to print.

import type { Database } from 'better-sqlite3';

/** A request as the web saw it. Times are in milliseconds of one clock. */
export interface SeenRequest {
  readonly host: string;
  readonly url: string;
  readonly by: string;
  readonly start: number;
  readonly end: number;
  /** Whether the answer arrived complete, before the connection was closed. */
  readonly whole: boolean;
}

/** State files by agent, open for reading. */
export type StateFiles = ReadonlyMap<string, Database>;

export type RowState = 'queued' | 'response' | 'failed' | 'skipped';

export interface StateRow {
  readonly host: string;
  readonly url: string;
  readonly state: RowState;
  readonly found: number;
  /** 0 while the page is not settled. */
  readonly done: number;
  readonly round: number;
  /** The number under which it was requeued; 0: never. */
  readonly again: number;
}

const STATES: readonly RowState[] = ['queued', 'response', 'failed', 'skipped'];

/** All rows of a file by URL: those of its own hosts and of its copies. */
export function rowsOf(db: Database): Map<string, StateRow> {
  const found = db
    .prepare<[], Omit<StateRow, 'state'> & { state: number }>(
      `SELECT h.host, u.state, u.found, u.done, u.round, u.again,
         CASE substr(u.key, 1, 1) WHEN 's' THEN 'https://' ELSE 'http://' END
           || h.host || substr(u.key, 2) AS url
       FROM urls u JOIN host_rows h ON h.number = u.id >> 28`,
    )
    .all();
  return new Map(found.map((row) => [row.url, { ...row, state: STATES[row.state]! }]));
}

/** URLs on their way to their owners. */
export function outboxOf(db: Database): Set<string> {
  return new Set(db.prepare<[], string>('SELECT url FROM outbox').pluck().all());
}
