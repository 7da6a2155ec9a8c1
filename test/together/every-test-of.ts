// Imports several test files, so that their tests run in one process. The product is then compiled
// once instead of once for each file, and runs as optimised code.

import fs from 'node:fs';
import path from 'node:path';

/** @param pattern - files in `test/`; those in folders `slow` only if it names the folder */
export async function everyTestOf(pattern: string): Promise<void> {
  const directory = path.join(import.meta.dirname, '..');
  const exclude = pattern.includes('slow') ? [] : ['**/slow/**'];
  for (const file of fs.globSync(pattern, { cwd: directory, exclude }).sort()) {
    await import(path.join(directory, file));
  }
}
