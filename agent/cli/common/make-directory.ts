// Creates a directory with its parents, like `mkdir -p`. Node's recursive mkdir never returns if the
// system reports ENOENT for an existing parent, as /proc does.
//
// Only the owner may read the data of a crawl: new directories have mode 0700, and later files of the
// process 0600. To let others read them, create the directory beforehand or widen its mode: an existing
// mode is kept, and the umask decides about the files.

import fs from 'node:fs';
import path from 'node:path';
import { systemCode } from './exit-code.ts';

/** Mode bits of the group and others. */
const OTHERS = 0o077;
const OWNER_ONLY = 0o700;

/**
 * Creates a missing directory. If the directory is for the owner only, sets the umask accordingly.
 *
 * @throws the system's error if the directory cannot be created
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
      // Another agent that starts at the same time has created it.
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  }
  const found = fs.statSync(directory);
  if (!found.isDirectory()) throw new Error(`${directory} is not a directory`);
  if ((found.mode & OTHERS) === 0) process.umask(OTHERS);
}
