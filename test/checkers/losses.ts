// Finds the links that would be lost if the disks of some agents were lost now (PROTOCOL invariants
// I5 and I7). A page counts as done at a copy only when all its links are known elsewhere. So after
// the loss of any `backups` disks the other agents must know every link of every done page. A real
// kill shows a gap only if it strikes in the right millisecond; this checker can run at any moment
// and for every agent.

import { outboxOf, rowsOf, type StateFiles, type StateRow } from './evidence.ts';

interface Known {
  readonly rows: ReadonlyMap<string, StateRow>;
  readonly outbox: ReadonlySet<string>;
}

/**
 * `lost` contains sets of agents whose disks are lost, one after the other. `linksOf` returns the
 * links of a page. A page that is fetched but not settled may rely on the outbox of the same file.
 */
export function losses(
  files: StateFiles,
  lost: readonly (readonly string[])[],
  linksOf: (url: string) => readonly string[],
): string[] {
  const known = new Map<string, Known>();
  for (const [id, db] of files) known.set(id, { rows: rowsOf(db), outbox: outboxOf(db) });
  return lost.flatMap((without) => lossesWithout(known, without, linksOf));
}

function lossesWithout(
  known: ReadonlyMap<string, Known>,
  without: readonly string[],
  linksOf: (url: string) => readonly string[],
): string[] {
  const left = [...known].filter(([id]) => !without.includes(id));
  const has = (url: string) =>
    left.some(([, { rows, outbox }]) => rows.has(url) || outbox.has(url));
  const offences: string[] = [];
  for (const [id, { rows }] of left) {
    for (const { url, state } of rows.values()) {
      if (state !== 'response') continue;
      for (const link of linksOf(url)) {
        if (has(link)) continue;
        offences.push(`lost without ${without.join(' and ')}: ${link}; ${id} has ${url} as done`);
      }
    }
  }
  return offences;
}

/** All subsets of the agents with `size` members. */
export function choices(ids: readonly string[], size: number): string[][] {
  if (size === 0) return [[]];
  return ids.flatMap((id, i) => choices(ids.slice(i + 1), size - 1).map((rest) => [id, ...rest]));
}
