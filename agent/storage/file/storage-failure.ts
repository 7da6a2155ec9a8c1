// Classifies errors of the disk and of SQLite: the disk is full, the file is damaged, the directory
// is not writable, or another program holds the lock. The message names the place and the remedy.
// The codes are stable and determine the agent's exit code (docs/COMMANDS.md).

import { accessSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type StorageFailureCode = 'full' | 'damaged' | 'unwritable' | 'busy';

export interface StorageFailure {
  readonly code: StorageFailureCode;
  /** Names the directory, what is wrong and the remedy. */
  readonly message: string;
}

/** Causes that are followed: one or two are usual, and a cycle must not hang the agent. */
const CAUSES_MAX = 8;
/**
 * With less free space than this, an I/O error counts as a full disk: SQLite does not report
 * SQLITE_FULL if the shared-memory file, which grows by 32 KiB, or a journal cannot grow.
 */
const NOTHING_LEFT_BYTES = 64 * 1024;

/**
 * Null if neither the disk nor SQLite caused the error.
 *
 * @param directory - the agent's, `DATA/ID`
 */
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
    return (freeBytes(directory) ?? Infinity) < NOTHING_LEFT_BYTES ? 'full' : 'unwritable';
  }
  if (/^SQLITE_(READONLY|PERM)|^(EROFS|EACCES|EPERM|EIO)$/.test(code)) return 'unwritable';
  return null;
}

/** @param file - a file, a directory or `/proc/PID` that belongs to the user who runs the agent */
export function permissionMissing(file: string): string {
  let whose = 'another user';
  try {
    const { uid } = statSync(file);
    if (uid === process.geteuid?.()) {
      return `permission missing: ${file} belongs to this user; run chmod u+rwX ${file}`;
    }
    whose = `user ${uid}`;
  } catch {
    // Access to a directory above it is denied, too.
  }
  return `permission missing: ${file} belongs to ${whose}; run the command as that user or as root`;
}

/**
 * The first of the files that exists and that this user may not read, or not write.
 *
 * @param mode - such as `R_OK | W_OK`
 */
export function barredAmong(files: readonly string[], mode: number): string | undefined {
  return files.find((file) => {
    try {
      accessSync(file, mode);
      return false;
    } catch (error) {
      return error instanceof Error && 'code' in error && /^(EACCES|EPERM)$/.test(`${error.code}`);
    }
  });
}

/** Whether the code of SQLite means that the file is damaged. */
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
        `(${kib(stateBytes(file))}) to grow (${why}); free some space there and start the agent ` +
        'again; no committed data is lost'
      );
    case 'damaged':
      return (
        `${file} is damaged (${why}); nothing more is written; start the agent again: it will check ` +
        'the file, and move it to quarantine if the other agents have copies of its contents'
      );
    case 'unwritable':
      return (
        `cannot read or write in ${directory}: ${why}; look at the disk and its permissions and ` +
        'start the agent again, or name another directory with --data'
      );
    case 'busy':
      return (
        `${file} is locked by another program (${why}); end that program's transaction and ` +
        'start the agent again; no committed data is lost'
      );
  }
}

/** Free space of the file system for users other than root; null: not known. */
export function freeBytes(directory: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** With the log of SQLite, which may be larger than the file itself. */
function stateBytes(file: string): number {
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return sizeOf(file) + sizeOf(`${file}-wal`);
}

function kib(bytes: number | null): string {
  return bytes === null ? 'an unknown amount' : `${Math.floor(bytes / 1024)} KiB`;
}
