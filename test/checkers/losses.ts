// What would be lost if the disks of some agents were lost at this very moment (PROTOCOL
// invariants I5 and I7). A page counts as done with a copy only when all that it links to is known
// elsewhere; so whichever disks up to `backups` are taken away, the others must know every link of
// every page that they call done. A real kill shows a hole only if it strikes in the right
// millisecond; this asks at any moment, of every agent.

import { outboxOf, rowsOf, type StateFiles, type StateRow } from './evidence.ts';

interface Known {
  readonly rows: ReadonlyMap<string, StateRow>;
  readonly outbox: ReadonlySet<string>;
}

/**
 * `lost` are the sets of agents to do without, one after the other; `linksOf` gives what a page
 * names. A page that is fetched and not settled may rely on the outbox beside it.
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

/** All sets of `size` of the agents. */
export function choices(ids: readonly string[], size: number): string[][] {
  if (size === 0) return [[]];
  return ids.flatMap((id, i) => choices(ids.slice(i + 1), size - 1).map((rest) => [id, ...rest]));
}
