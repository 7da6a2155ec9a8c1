// Test files that share a process: each is imported, and its tests run here. The files compile the
// product once rather than once each, and run code that is optimised already.

import fs from 'node:fs';
import path from 'node:path';

/** Imports every test file in a folder of `test/`, those in its folders included. */
export async function everyTestOf(folder: string): Promise<void> {
  const directory = path.join(import.meta.dirname, '..', folder);
  for (const file of fs.globSync('**/*.test.ts', { cwd: directory }).sort()) {
    await import(path.join(directory, file));
  }
}
