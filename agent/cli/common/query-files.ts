// The state files of a data directory, opened for reading: one read-only connection each, in one
// read transaction, so that everything a query sees of an agent is of one moment, though the agent
// goes on writing. Files of agents that have ended are read in the same way. A host that goes from
// one agent to another while the files are opened could be missed in both: then they are opened
// again. Used by all commands that read states.

import fs from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import {
  IS_USED,
  otherCrawlIn,
  type QuickCheck,
  quickCheck,
} from '../../storage/file/examination.ts';
import { openForReading } from '../../storage/file/reading.ts';
import { HELD_HOSTS } from '../../storage/reads/held-hosts.ts';

/** One agent's state, as it was when the file was opened. */
export interface StateFile {
  readonly agent: string;
  readonly path: string;
  /** Rows as arrays, integers as bigint, one at a time. Calls may be iterated side by side. */
  rows(sql: string, ...values: readonly unknown[]): IterableIterator<unknown[]>;
  /** The same with integers as numbers, for columns that hold small ones: twice as fast. */
  plainRows(sql: string): IterableIterator<unknown[]>;
  /** First row of a statement, its columns by name. */
  first(sql: string, ...values: readonly unknown[]): Record<string, unknown> | undefined;
  /** The name of the other crawl that the file belongs to; undefined where it may be of `crawl`. */
  otherCrawl(crawl: string): string | undefined;
  /** For damage, also where no statement looks: see `quickCheck`. */
  check(mayGoOn: () => boolean): QuickCheck;
  close(): void;
}

export interface StateFiles {
  readonly files: readonly StateFile[];
  /** Sentences that name each file which could not be read. */
  readonly problems: readonly string[];
  /** Whether some file is there and cannot be read. */
  readonly hasUnreadable: boolean;
}

/** How often the files are opened again while hosts go from one agent to another. */
const OPENED_MAX = 10;

/**
 * Opens `DATA/ID/state.sqlite` of every agent that has one.
 *
 * @param expected - agents whose files should be there: a missing one is a problem
 * @param onOpened - called after each file, for tests
 */
export function openStateFiles(
  dataDir: string,
  expected: readonly string[],
  onOpened?: (agent: string) => void,
): StateFiles {
  for (let opened = 1; ; opened++) {
    const before = heldHosts(dataDir);
    const found = openAll(dataDir, expected, onOpened);
    const isOver = opened === OPENED_MAX || found.files.length < 2;
    if (isOver || !found.files.some((file) => hasGivenHosts(file, before))) return found;
    for (const file of found.files) file.close();
  }
}

type Held = { readonly last: number };

/** What each file says of its hosts, by its path; of files that nobody writes to nothing. */
function heldHosts(dataDir: string): Map<string, Held> {
  const held = new Map<string, Held>();
  for (const agent of foundAgents(dataDir)) {
    const path = stateFileOf(dataDir, agent);
    if (!fs.existsSync(`${path}-shm`)) continue;
    let db: Database.Database | undefined;
    try {
      db = new Database(path, { readonly: true, fileMustExist: true });
      held.set(path, db.prepare<unknown[], Held>(HELD_HOSTS).get(null)!);
    } catch {
      // The caller reports the error when it opens the file for its query.
    } finally {
      db?.close();
    }
  }
  return held;
}

/** Whether the agent had more hosts before its file was opened, which others may have by now. */
function hasGivenHosts(file: StateFile, before: ReadonlyMap<string, Held>): boolean {
  const then = before.get(file.path);
  if (!then) return false;
  const now = { ...file.first(HELD_HOSTS, then.last), last: then.last };
  return JSON.stringify(now) !== JSON.stringify(then);
}

function openAll(
  dataDir: string,
  expected: readonly string[],
  onOpened?: (agent: string) => void,
): StateFiles {
  const files: StateFile[] = [];
  const problems: string[] = [];
  let hasUnreadable = false;
  for (const agent of new Set([...foundAgents(dataDir), ...expected])) {
    const path = stateFileOf(dataDir, agent);
    if (!fs.existsSync(path)) {
      problems.push(`${agent}: no state in ${join(dataDir, agent)}`);
      continue;
    }
    const opened = openStateFile(agent, path);
    if (typeof opened !== 'string') files.push(opened);
    else {
      problems.push(opened);
      hasUnreadable = true;
    }
    onOpened?.(agent);
  }
  return { files, problems, hasUnreadable };
}

function stateFileOf(dataDir: string, agent: string): string {
  return join(dataDir, agent, 'state.sqlite');
}

/** Directories with a state file, in order of their names. */
export function foundAgents(dataDir: string): string[] {
  let names: string[];
  try {
    names = fs.readdirSync(dataDir);
  } catch {
    return [];
  }
  return names.filter((name) => fs.existsSync(stateFileOf(dataDir, name))).sort();
}

/** @returns the file, or what is wrong with it */
export function openStateFile(agent: string, path: string): StateFile | string {
  const read = openForReading(path);
  return read.ok ? readerOf(agent, path, read.db) : `${agent}: ${path} ${read.why}`;
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
    first(sql, ...values) {
      return db.prepare<unknown[], Record<string, unknown>>(sql).get(...values);
    },
    otherCrawl(crawl) {
      try {
        return otherCrawlIn(db, crawl);
      } catch {
        // Damage is for those to report who read more of it.
        return undefined;
      }
    },
    check: (mayGoOn) => quickCheck(db, mayGoOn),
    close() {
      for (const rows of open) rows.return?.();
      db.close();
    },
  };
}

/** Whether the agent never was a member and holds nothing, as one that the others have refused. */
export function isUnusedState(file: StateFile): boolean {
  return file.first(IS_USED)?.used === 0;
}

/** Whether the error says that a file is damaged, not that the query is wrong. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Database.SqliteError)) return false;
  return /^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(error.code);
}
