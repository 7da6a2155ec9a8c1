// Notices that the state file was deleted or replaced while its agent runs. SQLite would go on in a
// file that has no name any more, and all that it holds is lost with the process; beside another
// program's file of the same name it would damage that. Started by agent.ts.

import { statSync } from 'node:fs';

const LOOK_MS = 1000;
/** The state file itself, and those beside it, which SQLite makes when it first needs them. */
const SUFFIXES = ['', '-wal', '-shm'];

/**
 * @param path - of the state file, which its agent has opened
 * @param onGone - called once, with the path of what is not what it was
 * @param ended - when the watch ends
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

/** @returns the first file that is not the one that was seen before; null where all are */
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
