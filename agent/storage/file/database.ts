// Opening an agent's files: the lock that keeps a second process off the data directory, and the
// database with its pragmas and migrations, after it was examined. A foreign or newer file is
// refused and left alone; a damaged one is set aside where other agents have copies of what it
// held, and refused where they have none. Called by agent.ts at the start; readers
// (`ubiring query`) open the file by themselves, read-only.

import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Connection } from '../encoding/connection.ts';
import { MIGRATIONS, ROWS_MOVE_AT } from '../schema/migrations.ts';
import { moveRows } from '../schema/move-rows.ts';
import { type Claims, examine, sizeOf, versionOf } from './examination.ts';
import { type Quarantined, quarantine, STATE_SUFFIXES } from './quarantine.ts';
import { isDamage, storageFailureOf } from './storage-failure.ts';

export type OpenFailureCode =
  | 'unwritable'
  | 'full'
  | 'locked'
  | 'corrupt'
  | 'newer'
  | 'other_crawl';

export interface OpenFailure {
  readonly ok: false;
  readonly code: OpenFailureCode;
  readonly message: string;
}

export type Opened =
  | {
      readonly ok: true;
      readonly db: Connection;
      readonly unlock: () => void;
      /** False of a large file, most of which was not read: see `checkInBackground`. */
      readonly examined: boolean;
      /** What a person should know of this start: that it is empty, and why. Null as a rule. */
      readonly notice: string | null;
    }
  | OpenFailure;

/** Files in `DATA/ID` that hold nothing which is not written anew. */
const SMALL_FILES = ['agent.lock', 'agent.pid', 'agent.endpoint'];
/** Whoever only looks whether the directory is in use holds its lock for a moment. */
const LOCK_WAIT_MS = 200;
const WAL_KEPT_BYTES_MAX = 64 * 1024 * 1024;
/** Memory that SQLite may use for pages of the file, per agent. */
const CACHE_KIB = 32 * 1024;

export interface OpenOptions extends Claims {
  /** `DATA/ID`; made if it does not exist. */
  readonly directory: string;
  /**
   * Given where other agents keep copies of what is here (`cluster.backups`): a damaged file is
   * then set aside, as of this moment (Unix milliseconds), and its contents come back from them.
   * Without copies the crawl would begin anew, which is for a person to decide: it is refused.
   */
  readonly quarantineAt?: number | undefined;
}

/** A larger file may take more than 3 s to be read whole, and is, while the agent works. */
export const WHOLE_BYTES_MAX = 128 * 1024 * 1024;
/** Beside a file that was found damaged at work: the next start reads it whole, however large. */
const SUSPECT = 'state.suspect';

/** Has the next start examine the whole file. Never throws: it may be the disk that is broken. */
export function markSuspect(directory: string): void {
  try {
    writeFileSync(join(directory, SUSPECT), '');
  } catch {
    // Then the check in the background finds it again.
  }
}

/** Opens `DATA/ID/state.sqlite` for writing. On failure no state was changed. */
export function openState(options: OpenOptions): Opened {
  const { directory } = options;
  const usedBefore = existsSync(join(directory, 'agent.lock'));
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    return failureOf(error, directory);
  }
  const lock = lockDirectory(directory);
  if (!lock.ok) return lock;
  try {
    const opened = openLocked(options, usedBefore);
    if (opened.ok) return { ...opened, unlock: lock.unlock };
    lock.unlock();
    return opened;
  } catch (error) {
    lock.unlock();
    return failureOf(error, directory);
  }
}

function openLocked(
  options: OpenOptions,
  usedBefore: boolean,
): Omit<Extract<Opened, { ok: true }>, 'unlock'> | OpenFailure {
  const path = join(options.directory, 'state.sqlite');
  const suspect = join(options.directory, SUSPECT);
  const examined = sizeOf(path) <= WHOLE_BYTES_MAX || existsSync(suspect);
  const found = examine(path, options, examined);
  if (found.kind === 'foreign') return { ok: false, code: found.code, message: found.message };
  const at = options.quarantineAt;
  if (found.kind === 'damaged' && at === undefined) return refusalOf(found.why, path, options);
  const aside =
    found.kind === 'damaged' && at !== undefined
      ? { ...quarantine(options.directory, found.why, at), at }
      : null;
  if (found.kind !== 'sound') create(path, options);
  const db = new Database(path);
  try {
    db.pragma('journal_mode = WAL');
    configure(db);
    prepare(db, options);
    if (aside) noteQuarantine(db, aside);
    rmSync(suspect, { force: true });
  } catch (error) {
    db.close();
    throw error;
  }
  const lost = found.kind === 'absent' && usedBefore;
  return {
    ok: true,
    db,
    examined,
    notice: aside ? asideNotice(path, aside) : lost ? goneNotice(path) : null,
  };
}

function refusalOf(why: string, path: string, { directory }: OpenOptions): OpenFailure {
  const message =
    `${path} ${why}, and no other agent has copies of what it held; restore it from a copy, ` +
    `or move ${directory} away and start the agent again: it begins anew from the seeds`;
  return { ok: false, code: 'corrupt', message };
}

function asideNotice(path: string, { why, to }: Quarantined): string {
  return (
    `${path} ${why}: it was moved to ${to} beside it, and the agent begins with an empty one; ` +
    'what it held comes back from the agents that have copies'
  );
}

function goneNotice(path: string): string {
  return `there is no ${path}, though an agent was started there before: it begins empty`;
}

function noteQuarantine(db: Connection, { at, why, to }: Quarantined & { at: number }): void {
  db.prepare<[number, string]>(
    "INSERT INTO event_rows (at, kind, detail) VALUES (?, 'quarantine', ?)",
  ).run(at, JSON.stringify({ why, to }));
}

/** What is said where something else stands in the place of a small file; null: nothing does. */
function oddFile(directory: string): string | null {
  for (const name of SMALL_FILES) {
    const path = join(directory, name);
    try {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat && !stat.isFile()) return `${path} is no file; delete it and start again`;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ELOOP')) throw error;
      return `${path} is a link to itself; delete it and start again`;
    }
  }
  return null;
}

function failureOf(error: unknown, directory: string): OpenFailure {
  const failure = storageFailureOf(error, directory);
  if (failure?.code === 'full') return { ok: false, code: 'full', message: failure.message };
  if (failure?.code === 'busy') return { ok: false, code: 'locked', message: failure.message };
  const why = error instanceof Error ? error.message : String(error);
  const message = `cannot write in ${directory}: ${why}; name another directory with --data`;
  return { ok: false, code: 'unwritable', message };
}

/** A lock that nobody refers to any more would be collected as garbage, and so given up. */
const heldLocks = new Set<Connection>();

export type Lock = { readonly ok: true; readonly unlock: () => void } | OpenFailure;

/** Holds `agent.lock` in `DATA/ID`, for the life of the process or until it is unlocked. */
export function lockDirectory(directory: string, waitMs = LOCK_WAIT_MS): Lock {
  try {
    const odd = oddFile(directory);
    if (odd !== null) return { ok: false, code: 'corrupt', message: odd };
  } catch (error) {
    return failureOf(error, directory);
  }
  const held = () =>
    `${directory} is in use by a running agent; stop that one first ` +
    '(`ubiring stop CONFIG ID`), or name another directory with --data';
  return lockFile(directory, 'agent.lock', held, waitMs);
}

/**
 * The lock is one of the kernel's, taken by SQLite: it goes with the process however that ends, so it
 * can never be stale, unlike `agent.pid`. It may fail on network file systems.
 *
 * @param held - what is said where another process holds it
 */
export function lockFile(
  directory: string,
  name: string,
  held: () => string,
  waitMs = LOCK_WAIT_MS,
): Lock {
  let lock: Connection | undefined;
  try {
    lock = new Database(join(directory, name), { timeout: waitMs });
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
    const taken = lock;
    heldLocks.add(taken);
    const unlock = () => {
      heldLocks.delete(taken);
      taken.close();
    };
    return { ok: true, unlock };
  } catch (error) {
    lock?.close();
    const code = error instanceof Database.SqliteError ? error.code : '';
    if (code.startsWith('SQLITE_BUSY')) {
      return { ok: false, code: 'locked', message: held() };
    }
    if (isDamage(code)) {
      // It never holds anything, so that nothing is lost with it.
      const message = `${join(directory, name)} is damaged; delete it and start again`;
      return { ok: false, code: 'corrupt', message };
    }
    return failureOf(error, directory);
  }
}

/**
 * Makes the file whole under another name first: a state that is there is never half made, so
 * that an empty one is known for damage.
 */
function create(path: string, claims: Claims): void {
  const unfinished = `${path}.new`;
  const clear = () => {
    for (const suffix of STATE_SUFFIXES) rmSync(`${unfinished}${suffix}`, { force: true });
  };
  clear();
  const db = new Database(unfinished);
  try {
    db.pragma('journal_mode = WAL');
    prepare(db, claims);
    db.close();
    renameSync(unfinished, path);
  } catch (error) {
    db.close();
    clear();
    throw error;
  }
}

function prepare(db: Connection, claims: Claims): void {
  bringUpToDate(db);
  claim(db, claims);
}

/** Applies the migrations that the file has not had. */
export function bringUpToDate(db: Connection): void {
  // SQLite is seeded by the system; a whole number that JavaScript can hold.
  const random = db.prepare<[], number>('SELECT random() & 0xffffffffffff').pluck().get();
  migrate(db, random!);
}

function migrate(db: Connection, slotsKey: number): void {
  for (let step = versionOf(db); step < MIGRATIONS.length; step++) {
    db.transaction(() => {
      db.exec(MIGRATIONS[step]!);
      if (step + 1 === ROWS_MOVE_AT) moveRows(db, slotsKey);
      db.pragma(`user_version = ${step + 1}`);
    })();
  }
}

/**
 * Writes in any case, so that a file that may only be read fails here and not in a turn. What
 * another crawl has claimed was found unused, see `examine`.
 */
function claim(db: Connection, claims: Claims): void {
  const save = db.prepare<[string, string]>('INSERT OR REPLACE INTO meta VALUES (?, ?)');
  db.transaction(() => {
    for (const key of ['crawl', 'agent'] as const) save.run(key, claims[key]);
  })();
}

function configure(db: Connection): void {
  db.pragma('synchronous = NORMAL');
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.pragma('temp_store = MEMORY');
  // A log that a reader made long is cut when it can be reused.
  db.pragma(`journal_size_limit = ${WAL_KEPT_BYTES_MAX}`);
  db.pragma('cell_size_check = ON');
}

/** A database in memory with the same tables, in the same order each time, for tests and the simulator. */
export function openInMemory(): Connection {
  const db = new Database(':memory:');
  migrate(db, 0);
  return db;
}
