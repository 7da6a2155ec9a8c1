// A round that was begun is whole at the end: all who were there know of it, and every page of a
// host was asked for in it, or later than it began, by the word of the host's owner.

import type { StateFiles } from './evidence.ts';
import { rowsOf } from './evidence.ts';

/** `order` gives the agents of a host, its owner first, among those that were there at the end. */
export function brokenRounds(
  files: StateFiles,
  order: (host: string) => readonly string[],
): string[] {
  const rounds = new Map([...files].map(([id, db]) => [id, roundOf(db)]));
  const last = Math.max(...rounds.values());
  const offences = [...rounds]
    .filter(([, round]) => round !== last)
    .map(([id, round]) => `${id} ended in round ${round}, others in ${last}`);
  for (const [id, db] of files) {
    for (const { url, host, state, round } of rowsOf(db).values()) {
      if (state === 'skipped' || round >= last || order(host)[0] !== id) continue;
      offences.push(`not asked for in round ${last}: ${url}, ${state} at its owner ${id}`);
    }
  }
  return offences;
}

type Db = StateFiles extends ReadonlyMap<string, infer D> ? D : never;

function roundOf(db: Db): number {
  const read = db.prepare<[], number>("SELECT value FROM meta WHERE key = 'round'").pluck();
  return Number(read.get() ?? 0);
}
