// Holds for any single file at any moment: a queued URL has no *done* number, because it was not
// fetched, and a settled one is in a final state.

import { rowsOf, type StateFiles } from './evidence.ts';

export function brokenRows(files: StateFiles): string[] {
  const offences: string[] = [];
  for (const [id, db] of files) {
    for (const { url, state, done } of rowsOf(db).values()) {
      if (state === 'queued' && done > 0) offences.push(`queued and done at ${id}: ${url}`);
    }
  }
  return offences;
}
