// A round is complete at the end: all agents that were present have it, and the owner of each host
// requested every page of the host in it, or after it began.

import type { StateFiles } from './evidence.ts';
import { rowsOf } from './evidence.ts';

/** `order` returns the agents of a host, owner first, among those present at the end. */
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
