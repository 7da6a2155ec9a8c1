// `launch --fresh`: the agents' directories are emptied, so that the crawl begins anew. WARC archives
// cannot be had again, so they are moved aside within the directory unless the operator says
// otherwise, and a quarantined state stays where it is. Used by `launch` once it is known that
// nothing else stands in its way.

import fs from 'node:fs';
import path from 'node:path';
import { bytesText } from '../common/output.ts';

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
    const kept = [archives, formerArchives, quarantine];
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
  const { current, former } = archivesOf(directory);
  const aside = path.join(former, new Date(at).toISOString().replaceAll(':', '-'));
  const archived = namesIn(current)
    .map((name) => path.join(current, name))
    .filter((file) => file !== former);
  const isKept = !deleteArchives && bytesIn(...archived) > 0;
  const moves = archived.map((file) => [file, path.join(aside, path.basename(file))] as const);
  const gone = deleteArchives && fs.existsSync(former) ? [...archived, former] : archived;
  const state = namesIn(directory)
    .filter((name) => ![archives, formerArchives, quarantine].includes(name))
    .map((name) => path.join(directory, name));
  const lines = [
    ...(isKept
      ? [`${directory}: keeps its archives (${sizeText(archived)}), moved to ${aside}`]
      : []),
    ...(deleteArchives && gone.length > 0
      ? [`${directory}: deletes its archives (${sizeText(gone)})`]
      : []),
    ...(state.length > 0 ? [`${directory}: deletes its state and log (${sizeText(state)})`] : []),
  ];
  return { moves: isKept ? moves : [], deletes: isKept ? state : [...gone, ...state], lines };
}

/**
 * Where the archives are, and where those of former crawls belong: on the same disk. Where `warc` is a
 * link, or another file system is mounted there, that is within it.
 */
function archivesOf(directory: string): { current: string; former: string } {
  const warc = path.join(directory, archives);
  const former = path.join(directory, formerArchives);
  const entry = fs.lstatSync(warc, { throwIfNoEntry: false });
  if (entry === undefined || !fs.existsSync(warc)) return { current: warc, former };
  const isMounted = entry.dev !== fs.statSync(directory).dev;
  if (!entry.isSymbolicLink() && !isMounted) return { current: warc, former };
  const current = fs.realpathSync(warc);
  return { current, former: path.join(current, formerArchives) };
}

function namesIn(directory: string): readonly string[] {
  return fs.existsSync(directory) ? fs.readdirSync(directory) : [];
}

function sizeText(files: readonly string[]): string {
  return bytesText(bytesIn(...files));
}

function bytesIn(...files: readonly string[]): number {
  const sizes = files.map((file) => {
    const stat = fs.lstatSync(file);
    if (!stat.isDirectory()) return stat.size;
    return bytesIn(...fs.readdirSync(file).map((name) => path.join(file, name)));
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}
