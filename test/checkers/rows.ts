// What any single file must be true to at any moment: a URL that is queued has no *done* number,
// for nobody has fetched it, and one that is settled is in a final state.

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
