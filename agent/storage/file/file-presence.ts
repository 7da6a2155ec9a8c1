// Detects that the state file was deleted or replaced while its agent runs. SQLite would go on to
// write to the deleted file, whose data is lost when the process exits. If another file has taken
// its path, SQLite could damage that file.

import { statSync } from 'node:fs';

/** Interval of the checks, in milliseconds. */
const LOOK_MS = 1000;
/** The state file, and the files beside it that SQLite creates when it first needs them. */
const SUFFIXES = ['', '-wal', '-shm'];

/**
 * @param path - the state file, which the agent has opened
 * @param onGone - called once, with the path of the missing or replaced file
 * @param ended - ends the watch when it settles
 */
export function watchPresence(
  path: string,
  onGone: (path: string) => void,
  ended: Promise<unknown>,
  lookMs = LOOK_MS,
): void {
  const known = new Map<string, number>();
  const timer = setInterval(() => {
    const gone = changed(path, known);
    if (gone === null) return;
    clearInterval(timer);
    onGone(gone);
  }, lookMs);
  timer.unref();
  changed(path, known);
  void ended.then(() => clearInterval(timer));
}

/** @returns the first file whose inode has changed or that is missing; null: no change */
function changed(path: string, known: Map<string, number>): string | null {
  for (const suffix of SUFFIXES) {
    const file = `${path}${suffix}`;
    const inode = statSync(file, { throwIfNoEntry: false })?.ino ?? null;
    const before = known.get(file);
    if (before !== undefined ? inode !== before : inode === null && suffix === '') return file;
    if (inode !== null) known.set(file, inode);
  }
  return null;
}
