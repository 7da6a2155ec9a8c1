// Directories for temporary copies of state files.

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'ubiring-copy-';
/** No copy takes so long: a process that was killed has left it behind. */
const LEFT_MS = 24 * 3_600_000;

/** The caller removes the directory. Also removes those that killed processes have left behind. */
export function scratchDirectory(): string {
  const root = tmpdir();
  const directory = mkdtempSync(join(root, PREFIX));
  const { mtimeMs: now } = statSync(directory);
  for (const name of readdirSync(root)) {
    const path = join(root, name);
    if (!name.startsWith(PREFIX) || !isOlder(path, now - LEFT_MS)) continue;
    removeScratch(path);
  }
  return directory;
}

/**
 * A process that is being killed may still add a file. Never throws: what cannot be removed, for
 * example on a disk that has become read-only, stays for `scratchDirectory` of a later process.
 */
export function removeScratch(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // The answer does not depend on it.
  }
}

/** For a process that has its temporary files there. */
export function scratchEnvironment(directory: string): Readonly<Record<string, string>> {
  // By default, it is in the directory for temporary files.
  const cache = process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'node-compile-cache');
  return { TMPDIR: directory, NODE_COMPILE_CACHE: cache };
}

function isOlder(path: string, ms: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.uid === process.getuid?.() && found.mtimeMs < ms;
}

/** A clause about an error in the directory, with the remedy. */
export function scratchFailure(error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `cannot write in ${tmpdir()}: ${why}; name a directory with room in TMPDIR`;
}
