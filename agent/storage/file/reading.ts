// A state file opened for reading alone, in one read transaction, whoever writes to it meanwhile.
// Two kinds of files cannot be read where they are: a copy without its -wal and -shm in a directory
// that cannot be written to, since SQLite makes these files for every reader, and a file of an older
// schema, which no agent has brought up to date yet. Such a file is copied into the directory for
// temporary files and read there; the copy has no name any more once it is open. Used by the
// commands that read; an agent opens its own file with database.ts.

import { constants, copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Connection } from '../encoding/connection.ts';
import { MIGRATIONS } from '../schema/migrations.ts';
import { bringUpToDate } from './database.ts';
import { sizeOf, versionOf } from './examination.ts';

export type Readable =
  | { readonly ok: true; readonly db: Connection }
  /** `why` is a clause that follows the name of the file. */
  | { readonly ok: false; readonly why: string };

/** What no file of this machine is changed by, except for temporary ones. */
export function openForReading(path: string): Readable {
  if (sizeOf(path) === 0) return { ok: false, why: 'is damaged (it is empty)' };
  try {
    return readInPlace(path);
  } catch (error) {
    const why = whyUnreadable(error);
    // While an agent writes to the file, the -shm is there.
    if (!isDenied(codeOf(error)) || existsSync(`${path}-shm`)) return { ok: false, why };
    return readCopy((copy) => {
      copyFileSync(path, copy, constants.COPYFILE_FICLONE);
      if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
    });
  }
}

function readInPlace(path: string): Readable {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const version = begin(db);
    if (version > MIGRATIONS.length) {
      db.close();
      const mine = MIGRATIONS.length;
      const why = `has schema ${version}, this ubiring knows ${mine}: it was written by a newer version; upgrade`;
      return { ok: false, why };
    }
    if (version === MIGRATIONS.length) return { ok: true, db };
    db.exec('COMMIT');
    const read = readCopy((copy) => db.prepare<[string]>('VACUUM INTO ?').run(copy));
    db.close();
    return read;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The transaction begins with its first read, which also shows whether the file is sound. */
function begin(db: Connection): number {
  db.exec('BEGIN');
  db.prepare('SELECT count(*) FROM meta').get();
  return versionOf(db);
}

function readCopy(copyTo: (path: string) => void): Readable {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-read-'));
  let db: Connection | undefined;
  try {
    const path = join(directory, 'state.sqlite');
    copyTo(path);
    db = new Database(path);
    bringUpToDate(db);
    begin(db);
    return { ok: true, db };
  } catch (error) {
    db?.close();
    if (!isFull(error)) return { ok: false, why: whyUnreadable(error) };
    const why = `cannot be copied to ${tmpdir()}, which is full: name a directory with room in TMPDIR`;
    return { ok: false, why };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function whyUnreadable(error: unknown): string {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return `is damaged (${message})`;
  }
  if (isDenied(code)) {
    return (
      `cannot be read (${code}): it takes the right to read the file, and the -wal and -shm files ` +
      'beside it while its agent runs'
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
