// Test files that share a process: each is imported, and its tests run here. The files compile the
// product once rather than once each, and run code that is optimised already.

import fs from 'node:fs';
import path from 'node:path';

/** @param pattern - of files in `test/`; those in folders `slow` only where it names them */
export async function everyTestOf(pattern: string): Promise<void> {
  const directory = path.join(import.meta.dirname, '..');
  const exclude = pattern.includes('slow') ? [] : ['**/slow/**'];
  for (const file of fs.globSync(pattern, { cwd: directory, exclude }).sort()) {
    await import(path.join(directory, file));
  }
}
