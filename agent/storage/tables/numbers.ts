// The interfaces through which the tables of a state file share event numbers: one counter, and the
// callback that receives each assigned number.

import type { HostRow } from './host-table.ts';

/** The counter from which *found* and *done* numbers come. */
export interface Numbers {
  next(): number;
  last(): number;
}

/** Receives each number that is assigned to a URL, for the copies at other agents. */
export type Note = (row: HostRow, id: number, n: number, kind: 'found' | 'again' | 'done') => void;
