// Makes a directory with whatever leads to it, as `mkdir -p` does. Node's own recursive form never
// returns where the system answers ENOENT for a parent that exists, as /proc does, and a command
// that hangs is worse than any error. Used before an agent's directory is written in.

import fs from 'node:fs';
import path from 'node:path';

/** Throws what the system says where the directory cannot be made. */
export function makeDirectory(directory: string): void {
  const missing: string[] = [];
  let current = path.resolve(directory);
  while (!fs.existsSync(current)) {
    missing.push(current);
    current = path.dirname(current);
  }
  for (const each of missing.reverse()) {
    try {
      fs.mkdirSync(each);
    } catch (error) {
      // Several agents start at once; whoever was first made it for all.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  if (!fs.statSync(directory).isDirectory()) throw new Error(`${directory} is no directory`);
}
