// A mark is a promise: the keeper of mark m for a sender has every event of the sender's rows
// numbered up to m, in the sender's state or a later one (PROTOCOL invariant I6).

import type { Database } from 'better-sqlite3';
import { rowsOf, type StateFiles } from './evidence.ts';

/** `excused`: senders whose files were set back to an earlier state. */
export function brokenMarks(files: StateFiles, excused: ReadonlySet<string> = new Set()): string[] {
  const offences: string[] = [];
  const rows = new Map([...files].map(([id, db]) => [id, [...rowsOf(db).values()]]));
  for (const [keeper, db] of files) {
    const mine = new Map(rows.get(keeper)!.map((row) => [row.url, row]));
    for (const { host, sender, mark } of marksOf(db)) {
      if (excused.has(sender)) continue;
      for (const row of rows.get(sender) ?? []) {
        if (row.host !== host) continue;
        const copy = mine.get(row.url);
        const what = `${row.url} of ${sender}, which ${keeper} has up to ${mark}`;
        if (row.found <= mark && !copy) offences.push(`not copied: ${what}`);
        const isDone = row.done > 0 && row.done <= mark;
        const isAgain = row.again > 0 && row.again <= mark;
        if (isAgain && copy && copy.round < row.round) offences.push(`not queued again: ${what}`);
        const isBehind = copy && copy.round <= row.round && copy.state === 'queued';
        if (isDone && isBehind) offences.push(`not copied as done: ${what}`);
      }
    }
  }
  return offences;
}

function marksOf(db: Database): { host: string; sender: string; mark: number }[] {
  return db
    .prepare<[], { host: string; sender: string; mark: number }>(
      `SELECT h.host, m.sender, m.mark FROM marks m JOIN host_rows h ON h.number = m.host
       WHERE m.mark > 0`,
    )
    .all();
}
