// What an error of the disk or of SQLite means for the agent that meets it: whether the disk is
// full, the file damaged, the directory not writable or held by another program, with a sentence
// that names the place and the remedy. The codes are stable; agent.ts turns them into exit codes
// (docs/COMMANDS.md), at the start and in a turn alike.

import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type StorageFailureCode = 'full' | 'damaged' | 'unwritable' | 'busy';

export interface StorageFailure {
  readonly code: StorageFailureCode;
  /** Names the directory, what is wrong and the remedy. */
  readonly message: string;
}

/** An error wraps another once or twice, and a circle must not hang us. */
const CAUSES_MAX = 8;
/**
 * With less than this left an I/O error is taken for a full disk: where the file of shared memory
 * (32 KiB a step) or a journal cannot grow, SQLite does not say SQLITE_FULL.
 */
const NOTHING_LEFT_BYTES = 64 * 1024;

/** Null where the error is not one of the disk. `directory` is the agent's, `DATA/ID`. */
export function storageFailureOf(error: unknown, directory: string): StorageFailure | null {
  let current = error;
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth++) {
    const code = 'code' in current ? String(current.code) : '';
    const kind = kindOf(code, directory);
    if (kind) return { code: kind, message: messageOf(kind, current, directory) };
    current = current.cause;
  }
  return null;
}

function kindOf(code: string, directory: string): StorageFailureCode | null {
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  if (isDamage(code)) return 'damaged';
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'busy';
  if (/^SQLITE_(IOERR|CANTOPEN)/.test(code)) {
    return freeBytes(directory) < NOTHING_LEFT_BYTES ? 'full' : 'unwritable';
  }
  if (/^SQLITE_(READONLY|PERM)|^(EROFS|EACCES|EPERM|EIO)$/.test(code)) return 'unwritable';
  return null;
}

/** Whether the code says that the file is not what SQLite wrote. */
export function isDamage(code: string): boolean {
  return code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB');
}

function messageOf(code: StorageFailureCode, error: Error, directory: string): string {
  const why = 'code' in error ? `${error.message}, ${String(error.code)}` : error.message;
  const file = join(directory, 'state.sqlite');
  switch (code) {
    case 'full':
      return (
        `disk full: ${directory} has ${kib(freeBytes(directory))} left, too little for its state ` +
        `(${kib(sizeOf(file))}) to grow (${why}); free some space there and start the agent ` +
        'again: what was committed is kept'
      );
    case 'damaged':
      return (
        `${file} is damaged (${why}); nothing more is written; start the agent again: the file ` +
        'is checked then, and set aside if the others have copies of what it holds'
      );
    case 'unwritable':
      return (
        `cannot read or write in ${directory}: ${why}; look at the disk and its permissions and ` +
        'start the agent again, or name another directory with --data'
      );
    case 'busy':
      return (
        `${file} is locked by another program (${why}); end that program's transaction and ` +
        'start the agent again: what was committed is kept'
      );
  }
}

function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function kib(bytes: number): string {
  return Number.isFinite(bytes) ? `${Math.floor(bytes / 1024)} KiB` : 'an unknown amount';
}
