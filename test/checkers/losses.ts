// Finds the links that would be lost if the disks of some agents were lost now (PROTOCOL invariants
// I5 and I7). A page counts as done at a copy only when all its links are known elsewhere. So after
// the loss of any `backups` disks the other agents must know every link of every done page. A real
// kill shows a gap only if it strikes in the right millisecond; this checker can run at any moment
// and for every agent.

import { outboxOf, rowsOf, type StateFiles } from './evidence.ts';

/** A link of a done page that few agents know. */
interface RareLink {
  /** An agent that has the page as done. */
  readonly at: string;
  readonly page: string;
  readonly link: string;
  readonly knownBy: readonly string[];
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
  const most = Math.max(0, ...lost.map(({ length }) => length));
  const rare = rareLinks(files, linksOf, most);
  return lost.flatMap((without) => {
    const isLost = (id: string) => without.includes(id);
    return rare
      .filter(({ at, knownBy }) => !isLost(at) && knownBy.every(isLost))
      .map(({ at, page, link }) => {
        return `lost without ${without.join(' and ')}: ${link}; ${at} has ${page} as done`;
      });
  });
}

/** The links of done pages that at most `most` agents know. */
function rareLinks(
  files: StateFiles,
  linksOf: (url: string) => readonly string[],
  most: number,
): RareLink[] {
  const rows = new Map([...files].map(([id, db]) => [id, rowsOf(db)]));
  const knownBy = new Map<string, Set<string>>();
  for (const [id, db] of files) {
    for (const url of [...rows.get(id)!.keys(), ...outboxOf(db)]) {
      const known = knownBy.get(url);
      if (known) known.add(id);
      else knownBy.set(url, new Set([id]));
    }
  }
  /** By page. Several agents have most pages as done. */
  const found = new Map<string, { link: string; knownBy: readonly string[] }[]>();
  const rareOf = (page: string) =>
    linksOf(page).flatMap((link) => {
      const known = [...(knownBy.get(link) ?? [])];
      return known.length <= most ? [{ link, knownBy: known }] : [];
    });
  return [...rows].flatMap(([at, each]) =>
    [...each.values()].flatMap(({ url: page, state }) => {
      if (state !== 'response') return [];
      const links = found.get(page) ?? rareOf(page);
      found.set(page, links);
      return links.map((link) => ({ at, page, ...link }));
    }),
  );
}

/** All subsets of the agents with `size` members. */
export function choices(ids: readonly string[], size: number): string[][] {
  if (size === 0) return [[]];
  return ids.flatMap((id, i) => choices(ids.slice(i + 1), size - 1).map((rest) => [id, ...rest]));
}
