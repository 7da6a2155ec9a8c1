// Opens a state file for reading only, in one read transaction, while other programs may write to
// it. Two kinds of files cannot be read in place: a file without -wal and -shm in a read-only
// directory, since SQLite creates these files for every reader, and a file of an older schema. Such
// a file is copied to the directory for temporary files; the copy is unlinked once it is open.

import { accessSync, constants, copyFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Connection } from '../encoding/connection.ts';
import { MIGRATIONS } from '../schema/migrations.ts';
import { bringUpToDate } from './database.ts';
import { sizeOf, versionOf } from './examination.ts';
import { removeScratch, scratchDirectory } from './scratch-directory.ts';

export type Readable =
  | { readonly ok: true; readonly db: Connection; readonly isCopy: boolean }
  | {
      readonly ok: false;
      /** A clause that follows the name of the file. */
      readonly why: string;
      /** There is no room for a copy; the file itself may be sound. */
      readonly isFull?: boolean;
    };

const EMPTY = 'is damaged (it is empty)';

/** Changes no file of this machine, except for temporary ones. */
export function openForReading(path: string): Readable {
  if (sizeOf(path) === 0) return { ok: false, why: EMPTY };
  try {
    return readInPlace(path);
  } catch (error) {
    const why = whyUnreadable(error);
    // The -shm file exists while an agent writes, so the file must not be copied.
    if (!isDenied(codeOf(error)) || existsSync(`${path}-shm`)) return { ok: false, why };
    return readCopy((copy) => {
      copyFileSync(path, copy, constants.COPYFILE_FICLONE);
      if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
    });
  }
}

/** Why the file cannot be opened, found without a copy; null: it can be opened, or copied. */
export function whyNotReadable(path: string): string | null {
  if (sizeOf(path) === 0) return EMPTY;
  let db: Connection | undefined;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true });
    return whyNewer(begin(db));
  } catch (error) {
    const isCopied = isDenied(codeOf(error)) && !existsSync(`${path}-shm`) && isPermitted(path);
    return isCopied ? null : whyUnreadable(error);
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
  const directory = scratchDirectory();
  let db: Connection | undefined;
  try {
    const path = join(directory, 'state.sqlite');
    copyTo(path);
    db = new Database(path);
    bringUpToDate(db);
    begin(db);
    return { ok: true, db, isCopy: true };
  } catch (error) {
    db?.close();
    if (!isFull(error)) return { ok: false, why: whyUnreadable(error) };
    const why = `cannot be copied to ${tmpdir()}, which is full: name a directory with room in TMPDIR`;
    return { ok: false, why, isFull: true };
  } finally {
    removeScratch(directory);
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
