// Runs the tests of several files in one process, by importing the files. The process then loads
// the product only once, and runs code that is already optimised.

import fs from 'node:fs';
import path from 'node:path';

/** @param pattern - glob of files in `test/`; without `slow` in it, folders `slow` are excluded */
export async function everyTestOf(pattern: string): Promise<void> {
  const directory = path.join(import.meta.dirname, '..');
  const exclude = pattern.includes('slow') ? [] : ['**/slow/**'];
  for (const file of fs.globSync(pattern, { cwd: directory, exclude }).sort()) {
    await import(path.join(directory, file));
  }
}
