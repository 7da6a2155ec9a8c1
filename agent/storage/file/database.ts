// Opens an agent's files: takes the lock that keeps a second process out of the data directory,
// then examines the database and applies pragmas and migrations. A foreign or newer file is refused
// and left unchanged. A damaged file is moved to quarantine if other agents have copies of its
// contents, else refused.

import {
  constants,
  existsSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Connection } from '../encoding/connection.ts';
import { leaveNetworks } from '../rows/network-urls.ts';
import { distrustLinks } from '../rows/refresh-table.ts';
import { MIGRATIONS, ROWS_MOVE_AT } from '../schema/migrations.ts';
import { moveRows } from '../schema/move-rows.ts';
import { type Claims, examine, sizeOf, versionOf } from './examination.ts';
import { type Quarantined, quarantine, STATE_SUFFIXES } from './quarantine.ts';
import { barredAmong, isDamage, permissionMissing, storageFailureOf } from './storage-failure.ts';

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
      /** False for a large file that was only partly read: see `checkInBackground`. */
      readonly examined: boolean;
      /** A message for the operator if the agent starts empty, with the reason; usually null. */
      readonly notice: string | null;
    }
  | OpenFailure;

/** Files in `DATA/ID` that each start writes again; they can be deleted while no agent runs. */
const SMALL_FILES = ['agent.lock', 'agent.pid', 'agent.endpoint'];
/** What an agent writes when it opens its state. */
const STATE_FILES = [...SMALL_FILES, ...STATE_SUFFIXES.map((suffix) => `state.sqlite${suffix}`)];
/** Longest wait for the lock: programs that only test it hold it briefly. */
const LOCK_WAIT_MS = 200;
/** Size to which SQLite truncates a long write-ahead log when it resets the log. */
const WAL_KEPT_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Pages of the write-ahead log after which SQLite copies them into the file: 16 MiB. With its
 * default of 1000, a crawl writes a fifth more bytes, because it copies the same pages more often.
 */
const CHECKPOINT_PAGES = 4000;
/** Page cache of SQLite, per agent. */
const CACHE_KIB = 32 * 1024;

export interface OpenOptions extends Claims {
  /** `DATA/ID`; created if it does not exist. */
  readonly directory: string;
  /**
   * Now, in Unix milliseconds, if other agents keep copies (`cluster.backups`): a damaged file
   * moves to quarantine and its contents return from the copies. Absent without copies: a damaged
   * file is refused, because only a person may decide to start the crawl again.
   */
  readonly quarantineAt?: number | undefined;
}

/** Larger files, which take more than 3 s to read, are examined while the agent works. */
export const WHOLE_BYTES_MAX = 128 * 1024 * 1024;
/** Marks a file that was found damaged at work: the next start examines all of it at any size. */
const SUSPECT = 'state.suspect';
/** Content of the mark if `--repair` was given. */
const REPAIR = 'repair';

/** Makes the next start examine the whole file. Never throws, because the disk may be broken. */
export function markSuspect(directory: string): void {
  mark(directory, '');
}

/**
 * As `markSuspect`, for `--repair`. Only a complete check shows what is lost, so the crawl may go
 * on without URLs that pages of this file link to: the next round reads all pages anew.
 */
export function markRepair(directory: string): void {
  mark(directory, REPAIR);
}

function mark(directory: string, why: string): void {
  try {
    writeFileSync(join(directory, SUSPECT), why);
  } catch {
    // The background check will find the damage again.
  }
}

/** Opens `DATA/ID/state.sqlite` for writing. A failure has changed no state. */
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
    if (isRepair(suspect)) distrustLinks(db);
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

function isRepair(suspect: string): boolean {
  return existsSync(suspect) && readFileSync(suspect, 'utf8') === REPAIR;
}

function refusalOf(why: string, path: string, { directory }: OpenOptions): OpenFailure {
  const message =
    `${path} ${why}, and no other agent has copies of its contents; restore it from a backup, ` +
    `or move ${directory} away and restart the agent, which then starts from the seeds`;
  return { ok: false, code: 'corrupt', message };
}

function asideNotice(path: string, { why, to }: Quarantined): string {
  return (
    `${path} ${why}: it was moved to ${to} in the same directory; the agent starts with an empty ` +
    'file, and the contents return from the agents that have copies'
  );
}

function goneNotice(path: string): string {
  return `${path} is missing, though an agent ran in this directory before: the agent starts empty`;
}

function noteQuarantine(db: Connection, { at, why, to }: Quarantined & { at: number }): void {
  db.prepare<[number, string]>(
    "INSERT INTO event_rows (at, kind, detail) VALUES (?, 'quarantine', ?)",
  ).run(at, JSON.stringify({ why, to }));
}

/** A message if one of the small files is not a regular file; else null. */
function oddFile(directory: string): string | null {
  for (const name of SMALL_FILES) {
    const path = join(directory, name);
    try {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat && !stat.isFile()) return `${path} is not a regular file; delete it and start again`;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ELOOP')) throw error;
      return `${path} is a symbolic link to itself; delete it and start again`;
    }
  }
  return null;
}

/** @param files - in the directory, which the failed action uses */
function failureOf(
  error: unknown,
  directory: string,
  files: readonly string[] = STATE_FILES,
): OpenFailure {
  const failure = storageFailureOf(error, directory);
  if (failure?.code === 'full') return { ok: false, code: 'full', message: failure.message };
  if (failure?.code === 'busy') return { ok: false, code: 'locked', message: failure.message };
  const paths = files.map((name) => join(directory, name));
  const barred = barredAmong(paths, constants.R_OK | constants.W_OK);
  if (barred !== undefined) {
    return { ok: false, code: 'unwritable', message: permissionMissing(barred) };
  }
  const why = error instanceof Error ? error.message : String(error);
  const message = `cannot write in ${directory}: ${why}; name another directory with --data`;
  return { ok: false, code: 'unwritable', message };
}

/** References to open locks: garbage collection of a connection would release its lock. */
const heldLocks = new Set<Connection>();

export type Lock = { readonly ok: true; readonly unlock: () => void } | OpenFailure;

/** Locks `agent.lock` in `DATA/ID` until `unlock` is called or the process exits. */
export function lockDirectory(directory: string, waitMs = LOCK_WAIT_MS): Lock {
  try {
    const odd = oddFile(directory);
    if (odd !== null) return { ok: false, code: 'corrupt', message: odd };
  } catch (error) {
    return failureOf(error, directory);
  }
  const held = () =>
    `${directory} is in use by a running agent; stop that agent first ` +
    '(`ubiring stop CONFIG ID`), or name another directory with --data';
  return lockFile(directory, 'agent.lock', held, waitMs);
}

/**
 * Takes a lock of the kernel through SQLite. The kernel releases it when the process exits for any
 * reason, so it is never stale, unlike `agent.pid`. It may not work on network file systems.
 *
 * @param held - the message if another process holds the lock
 */
export function lockFile(
  directory: string,
  name: string,
  held: () => string,
  waitMs = LOCK_WAIT_MS,
): Lock {
  let lock: Connection | undefined;
  const file = join(directory, name);
  const isNew = !existsSync(file);
  try {
    lock = new Database(file, { timeout: waitMs });
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
    if (isNew) giveToOwner(file);
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
      // The file is always empty, so deleting it loses nothing.
      const message = `${file} is damaged; delete it and start again`;
      return { ok: false, code: 'corrupt', message };
    }
    return failureOf(error, directory, [name]);
  }
}

/**
 * A new file of root gets the owner of its directory, who could not use it otherwise. Never follows a
 * symbolic link: that owner may have made it.
 */
export function giveToOwner(file: string): void {
  if (process.geteuid?.() !== 0) return;
  try {
    const { uid, gid } = statSync(dirname(file));
    lchownSync(file, uid, gid);
  } catch {
    // Not on every file system. A later command names the file and its owner.
  }
}

/**
 * Completes the new file under another name and then renames it. So `state.sqlite` is never
 * incomplete, and an empty file is always damage.
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

/**
 * Always writes the claims, so a read-only file fails here and not in a turn. If the file had
 * another crawl's name, `examine` has found it unused.
 */
function prepare(db: Connection, claims: Claims): void {
  bringUpToDate(db);
  const save = db.prepare<[string, string]>('INSERT OR REPLACE INTO meta VALUES (?, ?)');
  db.transaction(() => {
    for (const key of ['crawl', 'agent', 'network'] as const) {
      const claim = claims[key] ?? null;
      if (claim !== null) save.run(key, claim);
      else leaveNetworks(db);
    }
    if (claims.urls !== undefined) save.run('urls', claims.urls);
  })();
}

/** Applies the missing migrations. */
export function bringUpToDate(db: Connection): void {
  // The operating system seeds SQLite's generator; 48 bits are a safe integer of JavaScript.
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

function configure(db: Connection): void {
  db.pragma('synchronous = NORMAL');
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.pragma('temp_store = MEMORY');
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  // Truncates a log that grew during a long read transaction.
  db.pragma(`journal_size_limit = ${WAL_KEPT_BYTES_MAX}`);
  db.pragma('cell_size_check = ON');
}

/** A new database. To copy it takes less time than to create its tables. */
let empty: Buffer | null = null;

/** A database in memory. Its fixed hash key makes tests and simulations repeatable. */
export function openInMemory(): Connection {
  if (empty === null) {
    const db = new Database(':memory:');
    migrate(db, 0);
    empty = db.serialize();
    db.close();
  }
  return new Database(empty);
}
