// Sets a damaged state aside: the file and what SQLite keeps beside it move to
// `quarantine/TIME/` in the agent's directory, where nothing reads them and nothing ever deletes
// them. A rename on the same disk needs no space, and keeps every byte for a person to examine.
// `openState` calls this while it holds the directory's lock.

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

/** What SQLite may keep of a database: the file first, so that a move half done shows. */
export const STATE_SUFFIXES = ['', '-wal', '-journal', '-shm'] as const;

export interface Quarantined {
  /** What was found. */
  readonly why: string;
  /** Where it lies now, relative to the agent's directory. */
  readonly to: string;
}

/**
 * Throws what the system says where the files cannot be moved.
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
