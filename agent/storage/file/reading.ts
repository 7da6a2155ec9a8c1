// Opens a state file for reading only, in one read transaction, while other programs may write to
// it. Two kinds of files cannot be read in place: a file without -wal and -shm in a read-only
// directory, since SQLite creates these files for every reader, and a file of an older schema. Such
// a file is copied to the directory for temporary files; the copy is unlinked once it is open.

import { accessSync, constants, copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Connection } from '../encoding/connection.ts';
import { MIGRATIONS } from '../schema/migrations.ts';
import { bringUpToDate } from './database.ts';
import { type Claims, type Examined, examine, sizeOf, versionOf } from './examination.ts';
import { removeScratch, scratchDirectory, scratchFailure } from './scratch-directory.ts';

export type Readable =
  | { readonly ok: true; readonly db: Connection; readonly isCopy: boolean }
  | {
      readonly ok: false;
      /** A clause that follows the name of the file. */
      readonly why: string;
      /** The error of the directory for temporary files; the file itself may be sound. */
      readonly scratch?: unknown;
    };

type Unread = Extract<Readable, { ok: false }>;

const EMPTY = 'is damaged (it is empty)';

/** Changes no file of this machine, except for temporary ones. */
export function openForReading(path: string): Readable {
  if (sizeOf(path) === 0) return { ok: false, why: EMPTY };
  try {
    return readInPlace(path);
  } catch (error) {
    const why = whyUnreadable(error);
    return isCopied(path, error) ? readCopy(copying(path)) : { ok: false, why };
  }
}

/** As `examine`, also of a file that this user may read but not write. */
export function examineReadable(path: string, claims: Claims, whole: boolean): Examined | Unread {
  try {
    return examine(path, claims, whole);
  } catch (error) {
    if (!isCopied(path, error)) throw error;
    return withCopy(copying(path), (copy) => examine(copy, claims, whole));
  }
}

/** Whether the file can be read, but only a copy of it. */
function isCopied(path: string, error: unknown): boolean {
  // The -shm file exists while an agent writes, so the file must not be copied.
  return isDenied(codeOf(error)) && !existsSync(`${path}-shm`) && isPermitted(path);
}

function copying(path: string): (copy: string) => void {
  return (copy) => {
    copyFileSync(path, copy, constants.COPYFILE_FICLONE);
    if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
  };
}

/** Why the file cannot be opened, found without a copy; null: it can be opened, or copied. */
export function whyNotReadable(path: string): string | null {
  if (sizeOf(path) === 0) return EMPTY;
  let db: Connection | undefined;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true });
    return whyNewer(begin(db));
  } catch (error) {
    return isCopied(path, error) ? null : whyUnreadable(error);
  } finally {
    db?.close();
  }
}

function isPermitted(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function whyNewer(version: number): string | null {
  const mine = MIGRATIONS.length;
  if (version <= mine) return null;
  return `has schema ${version}, this ubiring knows ${mine}: it was written by a newer version; upgrade`;
}

function readInPlace(path: string): Readable {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const version = begin(db);
    const why = whyNewer(version);
    if (why !== null) {
      db.close();
      return { ok: false, why };
    }
    if (version === MIGRATIONS.length) return { ok: true, db, isCopy: false };
    db.exec('COMMIT');
    const read = readCopy((copy) => db.prepare<[string]>('VACUUM INTO ?').run(copy));
    db.close();
    return read;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** SQLite starts the transaction at the first read, which fails if the file is not a database. */
function begin(db: Connection): number {
  db.exec('BEGIN');
  db.prepare('SELECT count(*) FROM meta').get();
  return versionOf(db);
}

function readCopy(copyTo: (path: string) => void): Readable {
  return withCopy(copyTo, (path) => {
    const db = new Database(path);
    try {
      bringUpToDate(db);
      begin(db);
      return { ok: true, db, isCopy: true };
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** @param use - called with the path of the copy, which is removed afterwards */
function withCopy<T>(copyTo: (path: string) => void, use: (path: string) => T): T | Unread {
  let directory: string | undefined;
  try {
    directory = scratchDirectory();
    const path = join(directory, 'state.sqlite');
    copyTo(path);
    return use(path);
  } catch (error) {
    const isScratch = directory === undefined || isFull(error);
    if (!isScratch) return { ok: false, why: whyUnreadable(error) };
    return { ok: false, why: `cannot be copied: ${scratchFailure(error)}`, scratch: error };
  } finally {
    if (directory !== undefined) removeScratch(directory);
  }
}

/** A clause that follows the name of the file. */
export function whyUnreadable(error: unknown): string {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return `is damaged (${message})`;
  }
  if (isDenied(code)) {
    return (
      `cannot be read (${code}): reading it needs permission to read the file and, while its agent ` +
      'runs, the -wal and -shm files beside it'
    );
  }
  if (message.startsWith('no such table')) return "is another program's database";
  return `cannot be read: ${message}`;
}

function isDenied(code: string): boolean {
  return code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY');
}

function isFull(error: unknown): boolean {
  return codeOf(error) === 'ENOSPC' || codeOf(error).startsWith('SQLITE_FULL');
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
