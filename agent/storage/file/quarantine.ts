// Moves a damaged state file, and the files that SQLite keeps beside it, to `quarantine/TIME/` in
// the agent's directory, where nothing reads or deletes them. A rename on the same disk needs no
// space and keeps every byte for examination. The caller holds the lock of the directory.

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a database. The main file moves first, so an interrupted move is detected. */
export const STATE_SUFFIXES = ['', '-wal', '-journal', '-shm'] as const;

export interface Quarantined {
  /** A clause that follows the name of the file. */
  readonly why: string;
  /** The quarantine directory, relative to the agent's directory. */
  readonly to: string;
}

/**
 * Throws the system's error if the files cannot be moved.
 *
 * @param at - now, in Unix milliseconds
 */
export function quarantine(directory: string, why: string, at: number): Quarantined {
  const to = join('quarantine', new Date(at).toISOString().replaceAll(':', '-'));
  mkdirSync(join(directory, to), { recursive: true });
  for (const suffix of STATE_SUFFIXES) {
    const name = `state.sqlite${suffix}`;
    const from = join(directory, name);
    if (existsSync(from)) renameSync(from, join(directory, to, name));
  }
  return { why, to };
}
