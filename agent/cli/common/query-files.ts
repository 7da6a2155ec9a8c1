// Opens the state files of a data directory for reading: a read-only connection for each, in one
// read transaction, so that a query sees each agent at one moment while the agent continues to
// write. If a host moves between agents while the files are opened, both files may lack it; then
// all are opened again.

import fs from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import {
  IS_USED,
  otherCrawlIn,
  type QuickCheck,
  quickCheck,
} from '../../storage/file/examination.ts';
import { openForReading, type Readable } from '../../storage/file/reading.ts';
import { HELD_HOSTS } from '../../storage/reads/held-hosts.ts';
import { scratchRefusal } from './exit-code.ts';
import { refuseIfBarred } from './running.ts';

/** The state of one agent at the time when the file was opened. */
export interface StateFile {
  readonly agent: string;
  readonly path: string;
  /** Rows as arrays, with integers as bigint. Several calls may be iterated at the same time. */
  rows(sql: string, ...values: readonly unknown[]): IterableIterator<unknown[]>;
  /** Like `rows`, with integers as numbers; twice as fast. For columns with small integers. */
  plainRows(sql: string): IterableIterator<unknown[]>;
  /** First row of a statement, with columns by name. */
  first(sql: string, ...values: readonly unknown[]): Record<string, unknown> | undefined;
  /** Name of the crawl in the file if it is not `crawl`; undefined if it may be. */
  otherCrawl(crawl: string): string | undefined;
  /** Checks all tables for damage, see `quickCheck`. */
  check(mayGoOn: () => boolean): QuickCheck;
  /** A copy of the file is read, as it was when it was opened. */
  readonly isCopy: boolean;
  /** Ends the iterators of `rows`. */
  endRows(): void;
  close(): void;
}

export interface StateFiles {
  readonly files: readonly StateFile[];
  /** A sentence for each missing or unreadable file. */
  readonly problems: readonly string[];
  /** Whether an existing file cannot be read. */
  readonly hasUnreadable: boolean;
}

/** Maximum number of attempts to open all files while no host moves. */
const OPENED_MAX = 10;

/**
 * Opens `DATA/ID/state.sqlite` of every agent that has one.
 *
 * @param expected - agents whose files should be there: a missing one is a problem
 * @param more - `except`: agents whose files are not read; `onOpened`: called after each file, for tests;
 *   `needsAll`: throws a Refusal if the directory for temporary files cannot take a copy of a file
 */
export function openStateFiles(
  dataDir: string,
  expected: readonly string[],
  more: OpenOptions = {},
): StateFiles {
  return openTogether(dataDir, () => openAll(dataDir, expected, more));
}

interface OpenOptions {
  readonly except?: readonly string[];
  readonly onOpened?: (agent: string) => void;
  readonly needsAll?: boolean;
}

/**
 * Opens all files again if a host has moved between agents meanwhile.
 *
 * @param open - opens the files of the data directory
 */
export function openTogether<T extends { readonly files: readonly StateFile[] }>(
  dataDir: string,
  open: () => T,
): T {
  for (let opened = 1; ; opened++) {
    const before = heldHosts(dataDir);
    const found = open();
    let isKept = opened === OPENED_MAX || found.files.length < 2;
    try {
      isKept ||= !found.files.some((file) => hasGivenHosts(file, before.get(file.path)));
      if (isKept) return found;
    } finally {
      // Also if a file turns out to be damaged.
      if (!isKept) for (const file of found.files) file.close();
    }
  }
}

/** Identifies the hosts that an agent owns at one moment; a row of `HELD_HOSTS`. */
export type Held = { readonly last: number };

/** The hosts of each file, by path; only for files that a process has open. */
function heldHosts(dataDir: string): Map<string, Held> {
  const held = new Map<string, Held>();
  const agents = foundAgents(dataDir);
  if (agents.length < 2) return held;
  for (const agent of agents) {
    const path = stateFileOf(dataDir, agent);
    if (!fs.existsSync(`${path}-shm`)) continue;
    const of = heldIn(path);
    if (of !== null) held.set(path, of);
  }
  return held;
}

/** Null if the file cannot be read: the caller reports the error when it opens it for its query. */
export function heldIn(path: string): Held | null {
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true });
    return db.prepare<unknown[], Held>(HELD_HOSTS).get(null)!;
  } catch {
    return null;
  } finally {
    db?.close();
  }
}

/** Whether the agent has handed over hosts since `then`. */
export function hasGivenHosts(file: StateFile, then: Held | undefined): boolean {
  if (!then) return false;
  try {
    const now = { ...file.first(HELD_HOSTS, then.last), last: then.last };
    return JSON.stringify(now) !== JSON.stringify(then);
  } catch (error) {
    // A later read of the file reports the damage.
    if (isDamage(error)) return false;
    throw error;
  }
}

function openAll(
  dataDir: string,
  expected: readonly string[],
  { except = [], onOpened, needsAll = false }: OpenOptions,
): StateFiles {
  const files: StateFile[] = [];
  const problems: string[] = [];
  let hasUnreadable = false;
  refuseIfBarred(dataDir);
  for (const agent of new Set([...foundAgents(dataDir), ...expected])) {
    if (except.includes(agent)) continue;
    const path = stateFileOf(dataDir, agent);
    if (!fs.existsSync(path)) {
      problems.push(`${agent}: no state in ${join(dataDir, agent)}`);
      continue;
    }
    const read = openForReading(path);
    if (needsAll && !read.ok && read.scratch) {
      for (const file of files) file.close();
      throw scratchRefusal(read.scratch, `${path} ${read.why}`);
    }
    const opened = fileOf(agent, path, read);
    if (typeof opened !== 'string') files.push(opened);
    else {
      problems.push(opened);
      hasUnreadable = true;
    }
    onOpened?.(agent);
  }
  return { files, problems, hasUnreadable };
}

export function stateFileOf(dataDir: string, agent: string): string {
  return join(dataDir, agent, 'state.sqlite');
}

/** Names of the directories with a state file, sorted. */
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
  return fileOf(agent, path, openForReading(path));
}

function fileOf(agent: string, path: string, read: Readable): StateFile | string {
  return read.ok ? readerOf(agent, path, read) : `${agent}: ${path} ${read.why}`;
}

/** @param read - is closed with the reader */
export function readerOf(
  agent: string,
  path: string,
  { db, isCopy }: { readonly db: Database.Database; readonly isCopy: boolean },
): StateFile {
  const prepared = new Map<string, Database.Statement<unknown[], unknown[]>>();
  const statement = (sql: string) => {
    const known = prepared.get(sql);
    if (known && !known.busy) return known;
    // As bigint: numbers would be bound as REAL, and large integers would lose digits.
    const fresh = db.prepare<unknown[], unknown[]>(sql).raw().safeIntegers();
    prepared.set(sql, fresh);
    return fresh;
  };
  // Iterators to end in `close`, since a connection with open iterators cannot be closed.
  const open = new Set<IterableIterator<unknown[]>>();
  function* tracked(start: () => IterableIterator<unknown[]>) {
    const rows = start();
    open.add(rows);
    yield* rows;
    open.delete(rows);
  }
  const endRows = () => {
    for (const rows of open) rows.return?.();
  };
  return {
    ...{ agent, path, isCopy, endRows },
    rows: (sql, ...values) => tracked(() => statement(sql).iterate(...values)),
    plainRows: (sql) => tracked(() => db.prepare<unknown[], unknown[]>(sql).raw().iterate()),
    first(sql, ...values) {
      return db.prepare<unknown[], Record<string, unknown>>(sql).get(...values);
    },
    otherCrawl(crawl) {
      try {
        return otherCrawlIn(db, crawl);
      } catch {
        // A later read of the file reports the damage.
        return undefined;
      }
    },
    check: (mayGoOn) => quickCheck(db, mayGoOn),
    close() {
      endRows();
      db.close();
    },
  };
}

/** Whether the agent was never a member and has no rows, for example because it was refused. */
export function isUnusedState(file: StateFile): boolean {
  return file.first(IS_USED)?.used === 0;
}

/** Whether the error reports a damaged or unreadable file rather than a wrong query. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Database.SqliteError)) return false;
  return /^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(error.code);
}
