// `launch --fresh`: the agents' directories are emptied, so that the crawl begins anew. WARC archives
// cannot be had again, so they are moved aside within the directory unless the operator says
// otherwise, and a quarantined state stays where it is. Used by `launch` once it is known that
// nothing else stands in its way.

import fs from 'node:fs';
import path from 'node:path';
import { bytesText } from './output.ts';

/** A file of these marks a directory as an agent's; no other is emptied. */
const marks = ['state.sqlite', 'agent.lock', 'agent.log'];
const archives = 'warc';
/** Where the archives of former crawls are, by the time at which they were moved there. */
const formerArchives = 'archives';
const quarantine = 'quarantine';

export interface FreshStart {
  /** What is kept and what is deleted, a line for each directory. */
  readonly lines: readonly string[];
  /** Does so. Throws errors of the disk. */
  run(): void;
}

/**
 * @param at - now, in Unix milliseconds
 * @returns why nothing may be deleted, or what would be done
 */
export function planFreshStart(
  directories: readonly string[],
  at: number,
  deleteArchives: boolean,
): FreshStart | string {
  const plans = directories.filter((directory) => fs.existsSync(directory));
  for (const directory of plans) {
    const names = fs.readdirSync(directory);
    const kept = [formerArchives, quarantine];
    if (names.every((name) => kept.includes(name))) continue;
    if (names.some((name) => marks.includes(name))) continue;
    return `${directory} is no agent's directory: it is not deleted; move it away`;
  }
  const emptyings = plans.map((directory) => emptyingOf(directory, at, deleteArchives));
  return {
    lines: emptyings.flatMap(({ lines }) => lines),
    run: () => {
      for (const { moves, deletes } of emptyings) {
        for (const [from, to] of moves) {
          fs.mkdirSync(path.dirname(to), { recursive: true });
          fs.renameSync(from, to);
        }
        for (const file of deletes) fs.rmSync(file, { recursive: true });
      }
    },
  };
}

interface Emptying {
  readonly moves: readonly (readonly [from: string, to: string])[];
  readonly deletes: readonly string[];
  readonly lines: readonly string[];
}

/** The directory itself stays: it may be a symbolic link, or have rights of its own. */
function emptyingOf(directory: string, at: number, deleteArchives: boolean): Emptying {
  const names = fs.readdirSync(directory).filter((name) => name !== quarantine);
  const isArchive = (name: string) => name === archives || name === formerArchives;
  const inFull = (name: string) => path.join(directory, name);
  const size = (some: readonly string[]) =>
    bytesText(some.reduce((sum, name) => sum + bytesIn(inFull(name)), 0));
  const hasArchives = names.includes(archives) && bytesIn(inFull(archives)) > 0;
  const time = new Date(at).toISOString().replaceAll(':', '-');
  const aside = path.join(formerArchives, time);
  const moves = hasArchives && !deleteArchives ? [[inFull(archives), inFull(aside)] as const] : [];
  const deleted = names.filter((name) => {
    if (name === archives) return moves.length === 0;
    return name !== formerArchives || deleteArchives;
  });
  const [state, gone] = [deleted.filter((name) => !isArchive(name)), deleted.filter(isArchive)];
  const lines = [
    ...(moves.length > 0
      ? [`${directory}: keeps its archives (${size([archives])}), moved to ${inFull(aside)}`]
      : []),
    ...(deleteArchives && gone.length > 0
      ? [`${directory}: deletes its archives (${size(gone)})`]
      : []),
    ...(state.length > 0 ? [`${directory}: deletes its state and log (${size(state)})`] : []),
  ];
  return { moves, deletes: deleted.map(inFull), lines };
}

function bytesIn(file: string): number {
  const stat = fs.lstatSync(file);
  if (!stat.isDirectory()) return stat.size;
  return fs.readdirSync(file).reduce((sum, name) => sum + bytesIn(path.join(file, name)), 0);
}
