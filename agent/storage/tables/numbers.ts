// What the tables of a state file share about the numbers of events: one counter for all of them, and
// who is told of each number that is given. Put together by `SqliteStore`.

import type { HostRow } from './host-table.ts';

/** The counter from which *found* and *done* numbers come. */
export interface Numbers {
  next(): number;
  last(): number;
}

/** Told of each number given to a URL, by its id, for the copies at other agents. */
export type Note = (row: HostRow, id: number, n: number, kind: 'found' | 'again' | 'done') => void;
