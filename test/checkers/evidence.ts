// What a checker may look at: requests as the web saw them, and the agents' state files. Both the
// simulated cluster and the chaos tests on real processes can show these, so one checker serves
// both. Every checker is a file of its own and gives the offences it found, as lines to print.

import type { Database } from 'better-sqlite3';

/** A request as the web saw it; times in milliseconds of one clock. */
export interface SeenRequest {
  readonly host: string;
  readonly url: string;
  readonly by: string;
  readonly start: number;
  readonly end: number;
  /** The answer arrived whole; else the connection was closed before. */
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
  /** Under which it was queued again; 0: it never was. */
  readonly again: number;
}

const STATES: readonly RowState[] = ['queued', 'response', 'failed', 'skipped'];

/** All rows of a file by URL: of its own hosts and of those it keeps copies of. */
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
