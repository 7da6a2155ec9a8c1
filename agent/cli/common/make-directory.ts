// Makes a directory with whatever leads to it, as `mkdir -p` does. Node's own recursive form never
// returns where the system answers ENOENT for a parent that exists, as /proc does, and a command
// that hangs is worse than any error. Used before an agent's directory is written in.
//
// Only the owner may read what a crawl stores: a directory made here has mode 0700, and files that this
// process makes afterwards have 0600. An operator who wants others to read them makes the directory
// beforehand, or widens its mode: then the mode stays, and the umask decides about the files.

import fs from 'node:fs';
import path from 'node:path';

/** What the group and others may do, as bits of a mode. */
const OTHERS = 0o077;
const OWNER_ONLY = 0o700;

/**
 * Makes the directory if it is missing, and narrows the umask of the process to its mode.
 *
 * @throws what the system says where the directory cannot be made
 */
export function makeDirectory(directory: string): void {
  const missing: string[] = [];
  let current = path.resolve(directory);
  while (!fs.existsSync(current)) {
    missing.push(current);
    current = path.dirname(current);
  }
  for (const each of missing.reverse()) {
    try {
      fs.mkdirSync(each, { mode: OWNER_ONLY });
    } catch (error) {
      // Several agents start at once; whoever was first made it for all.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  const found = fs.statSync(directory);
  if (!found.isDirectory()) throw new Error(`${directory} is no directory`);
  if ((found.mode & OTHERS) === 0) process.umask(OTHERS);
}
