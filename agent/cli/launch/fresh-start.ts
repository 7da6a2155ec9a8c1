// `launch --fresh`: empties the agents' directories, so that the crawl starts from the seeds. WARC
// archives cannot be restored, so they are moved aside unless --delete-archives is given. A
// quarantined state stays where it is.

import fs from 'node:fs';
import path from 'node:path';
import { bytesText } from '../common/output.ts';

/** A directory is emptied only if it contains one of these files of an agent. */
const marks = ['state.sqlite', 'agent.lock', 'agent.log'];
const archives = 'warc';
/** The archives of previous crawls, in a directory named by the time of the move. */
const previousArchives = 'archives';
const quarantine = 'quarantine';
const kept = [archives, previousArchives, quarantine];

export interface FreshStart {
  /** What `run` keeps and deletes in each directory. */
  readonly lines: readonly string[];
  /** Moves and deletes the files. Throws disk errors. */
  run(): void;
}

/**
 * @param at - now, in Unix milliseconds
 * @returns the plan, or a sentence that says why nothing may be deleted
 */
export function planFreshStart(
  directories: readonly string[],
  at: number,
  deleteArchives: boolean,
): FreshStart | string {
  const existing = directories.filter((directory) => fs.existsSync(directory));
  for (const directory of existing) {
    const names = fs.readdirSync(directory);
    if (names.every((name) => kept.includes(name))) continue;
    if (names.some((name) => marks.includes(name))) continue;
    return `${directory} is not an agent's directory: it is not deleted; move it away`;
  }
  const emptyings = existing.map((directory) => emptyingOf(directory, at, deleteArchives));
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

/** The directory itself stays: it may be a symbolic link or have special permissions. */
function emptyingOf(directory: string, at: number, deleteArchives: boolean): Emptying {
  const { current, previous } = archivesOf(directory);
  const aside = path.join(previous, new Date(at).toISOString().replaceAll(':', '-'));
  const archived = namesIn(current)
    .map((name) => path.join(current, name))
    .filter((file) => file !== previous);
  const isKept = !deleteArchives && bytesIn(...archived) > 0;
  const moves = archived.map((file) => [file, path.join(aside, path.basename(file))] as const);
  const deleted = deleteArchives && fs.existsSync(previous) ? [...archived, previous] : archived;
  const state = namesIn(directory)
    .filter((name) => !kept.includes(name))
    .map((name) => path.join(directory, name));
  const lines = [
    ...(isKept
      ? [`${directory}: keeps its archives (${sizeText(archived)}), moved to ${aside}`]
      : []),
    ...(deleteArchives && deleted.length > 0
      ? [`${directory}: deletes its archives (${sizeText(deleted)})`]
      : []),
    ...(state.length > 0 ? [`${directory}: deletes its state and log (${sizeText(state)})`] : []),
  ];
  return { moves: isKept ? moves : [], deletes: isKept ? state : [...deleted, ...state], lines };
}

/**
 * The directories of the current archives and of those of previous crawls. Both must be on the same
 * disk, so if `warc` is a symbolic link or a mount point, the second one is inside it.
 */
function archivesOf(directory: string): { current: string; previous: string } {
  const warc = path.join(directory, archives);
  const previous = path.join(directory, previousArchives);
  const entry = fs.lstatSync(warc, { throwIfNoEntry: false });
  if (entry === undefined || !fs.existsSync(warc)) return { current: warc, previous };
  const isMounted = entry.dev !== fs.statSync(directory).dev;
  if (!entry.isSymbolicLink() && !isMounted) return { current: warc, previous };
  const current = fs.realpathSync(warc);
  return { current, previous: path.join(current, previousArchives) };
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
