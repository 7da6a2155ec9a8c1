// The state files of a data directory, opened for reading: one read-only connection each, in one
// read transaction, so that everything a query sees of an agent is of one moment, though the agent
// goes on writing. Files of agents that have ended are read in the same way. Used by `query`, by
// `audit` and by the summary of `launch`.

import fs from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { messageOf } from './exit-code.ts';

/** One agent's state, as it was when the file was opened. */
export interface StateFile {
  readonly agent: string;
  readonly path: string;
  /** Rows as arrays, integers as bigint, one at a time. Calls may be iterated side by side. */
  rows(sql: string, ...values: readonly unknown[]): IterableIterator<unknown[]>;
  /** The same with integers as numbers, for columns that hold small ones: twice as fast. */
  plainRows(sql: string): IterableIterator<unknown[]>;
  close(): void;
}

export interface StateFiles {
  readonly files: readonly StateFile[];
  /** Sentences that name each file which could not be read. */
  readonly problems: readonly string[];
}

/**
 * Opens `DATA/ID/state.sqlite` of every agent that has one.
 *
 * @param expected - agents whose files should be there: a missing one is a problem
 */
export function openStateFiles(dataDir: string, expected: readonly string[]): StateFiles {
  const files: StateFile[] = [];
  const problems: string[] = [];
  for (const agent of new Set([...foundAgents(dataDir), ...expected])) {
    const file = stateFileOf(dataDir, agent);
    if (!fs.existsSync(file)) {
      problems.push(`${agent}: no state in ${join(dataDir, agent)}`);
      continue;
    }
    const opened = openStateFile(agent, file);
    if (typeof opened === 'string') problems.push(opened);
    else files.push(opened);
  }
  return { files, problems };
}

function stateFileOf(dataDir: string, agent: string): string {
  return join(dataDir, agent, 'state.sqlite');
}

/** Directories with a state file, in order of their names. */
function foundAgents(dataDir: string): string[] {
  let names: string[];
  try {
    names = fs.readdirSync(dataDir);
  } catch {
    return [];
  }
  return names.filter((name) => fs.existsSync(stateFileOf(dataDir, name))).sort();
}

/** @returns the file, or what is wrong with it */
function openStateFile(agent: string, file: string): StateFile | string {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    db.exec('BEGIN');
    // The transaction begins with the first read, which also shows whether the file is sound.
    db.prepare('SELECT count(*) FROM meta').get();
  } catch (error) {
    db?.close();
    return `${agent}: ${file} ${whyUnreadable(error)}`;
  }
  return readerOf(agent, file, db);
}

function readerOf(agent: string, path: string, db: Database.Database): StateFile {
  const prepared = new Map<string, Database.Statement<unknown[], unknown[]>>();
  const statement = (sql: string) => {
    const known = prepared.get(sql);
    if (known && !known.busy) return known;
    // As integers of any size: as numbers they would pass through as reals.
    const fresh = db.prepare<unknown[], unknown[]>(sql).raw().safeIntegers();
    prepared.set(sql, fresh);
    return fresh;
  };
  // A query with a LIMIT leaves its rows in the middle, and a busy connection cannot be closed.
  const open = new Set<IterableIterator<unknown[]>>();
  return {
    agent,
    path,
    *rows(sql, ...values) {
      const rows = statement(sql).iterate(...values);
      open.add(rows);
      yield* rows;
      open.delete(rows);
    },
    *plainRows(sql) {
      const rows = db.prepare<unknown[], unknown[]>(sql).raw().iterate();
      open.add(rows);
      yield* rows;
      open.delete(rows);
    },
    close() {
      for (const rows of open) rows.return?.();
      db.close();
    },
  };
}

function whyUnreadable(error: unknown): string {
  const code = error instanceof Database.SqliteError ? error.code : '';
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return `is damaged (${messageOf(error)}): its agent will say what to do`;
  }
  if (code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY')) {
    return (
      `cannot be read (${code}): SQLite needs its -wal and -shm files beside it, ` +
      'and the right to write the latter'
    );
  }
  if (messageOf(error).startsWith('no such table')) return 'holds no state yet';
  return `cannot be read: ${messageOf(error)}`;
}

/** Whether the error says that a file is damaged, not that the query is wrong. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Database.SqliteError)) return false;
  return /^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(error.code);
}
