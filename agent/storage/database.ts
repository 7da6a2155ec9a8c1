// Opening an agent's files: the lock that keeps a second process off the data directory, the
// database with its pragmas and migrations, and the checks that turn a damaged, foreign or newer
// file into a clear refusal before anything is written. Called by agent.ts at the start; readers
// (`ubiring query`) open the file by themselves, read-only.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { MIGRATIONS } from './migrations.ts';

export type Connection = Database.Database;

export type OpenFailureCode = 'unwritable' | 'locked' | 'corrupt' | 'newer' | 'other_crawl';

export type Opened =
  | { readonly ok: true; readonly db: Connection; readonly unlock: () => void }
  | { readonly ok: false; readonly code: OpenFailureCode; readonly message: string };

/** Whoever only looks whether the directory is in use holds its lock for a moment. */
const LOCK_WAIT_MS = 200;
/** Memory that SQLite may use for pages of the file, per agent. */
const CACHE_KIB = 32 * 1024;

export interface OpenOptions {
  /** `DATA/ID`; made if it does not exist. */
  readonly directory: string;
  readonly crawl: string;
  readonly agent: string;
}

/** Opens `DATA/ID/state.sqlite` for writing. On failure no state was changed. */
export function openState(options: OpenOptions): Opened {
  const { directory } = options;
  const path = join(directory, 'state.sqlite');
  try {
    mkdirSync(directory, { recursive: true });
  } catch (error) {
    return unwritable(directory, error);
  }
  const lock = lockDirectory(directory);
  if (!lock.ok) return lock;
  let db: Connection | undefined;
  try {
    db = new Database(path);
    examine(db, path, options);
    db.pragma('journal_mode = WAL');
    migrate(db);
    claim(db, options);
    configure(db);
    return { ok: true, db, unlock: lock.unlock };
  } catch (error) {
    db?.close();
    lock.unlock();
    return refusalOf(error, path, directory);
  }
}

const CORRUPT_REMEDY =
  'move its directory away and start the agent again (it begins anew, the other agents keep ' +
  'their state), or restore the file from a copy';

class Refusal extends Error {
  readonly code: OpenFailureCode;
  constructor(code: OpenFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

function refusalOf(error: unknown, path: string, directory: string): Opened {
  if (error instanceof Refusal) return { ok: false, code: error.code, message: error.message };
  if (isDamage(error)) {
    const why = sqliteCode(error);
    const message = `${path} is not a readable SQLite database (${why}); ${CORRUPT_REMEDY}`;
    return { ok: false, code: 'corrupt', message };
  }
  return unwritable(directory, error);
}

function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB');
}

function unwritable(directory: string, error: unknown): Opened {
  const why = error instanceof Error ? error.message : String(error);
  const message = `cannot write in ${directory}: ${why}; name another directory with --data`;
  return { ok: false, code: 'unwritable', message };
}

function sqliteCode(error: unknown): string {
  return error instanceof Database.SqliteError ? error.code : '';
}

/** A lock that nobody refers to any more would be collected as garbage, and so given up. */
const heldLocks = new Set<Connection>();

/**
 * Holds `agent.lock` for the life of the process. The lock is one of the kernel's, taken by
 * SQLite: it goes with the process however that ends, so it can never be stale.
 */
export function lockDirectory(
  directory: string,
): { ok: true; unlock: () => void } | { ok: false; code: OpenFailureCode; message: string } {
  let lock: Connection | undefined;
  try {
    lock = new Database(join(directory, 'agent.lock'), { timeout: LOCK_WAIT_MS });
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
    const held = lock;
    heldLocks.add(held);
    const unlock = () => {
      heldLocks.delete(held);
      held.close();
    };
    return { ok: true, unlock };
  } catch (error) {
    lock?.close();
    if (sqliteCode(error).startsWith('SQLITE_BUSY')) {
      const message =
        `${directory} is in use by a running agent; stop that one first ` +
        '(`ubiring stop CONFIG ID`), or name another directory with --data';
      return { ok: false, code: 'locked', message };
    }
    if (isDamage(error)) {
      // It never holds anything, so that nothing is lost with it.
      const message = `${join(directory, 'agent.lock')} is damaged; delete it and start again`;
      return { ok: false, code: 'corrupt', message };
    }
    return unwritable(directory, error);
  }
}

/** All that can be wrong with a file is found here, before anything is written. */
function examine(db: Connection, path: string, options: OpenOptions): void {
  const found = db.pragma('quick_check(1)', { simple: true });
  if (found !== 'ok') {
    const damage = String(found).split('\n')[0]!.slice(0, 200);
    throw new Refusal('corrupt', `${path} is damaged (${damage}); ${CORRUPT_REMEDY}`);
  }
  const version = versionOf(db);
  if (version > MIGRATIONS.length) {
    throw new Refusal(
      'newer',
      `${path} has schema ${version}, this ubiring knows ${MIGRATIONS.length}: ` +
        'it was written by a newer version; upgrade, or name another directory with --data',
    );
  }
  if (version === 0 && tableCount(db) > 0) {
    const message = `${path} is another program's database; name another directory with --data`;
    throw new Refusal('other_crawl', message);
  }
  for (const [key, mine] of claimsOf(options)) {
    const theirs = claimIn(db, key);
    if (theirs === mine || theirs === undefined) continue;
    throw new Refusal(
      'other_crawl',
      `${path} belongs to ${key} '${theirs}', not '${mine}'; name another directory with ` +
        '--data, or delete this one with launch --fresh',
    );
  }
}

function tableCount(db: Connection): number {
  return db.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get() ?? 0;
}

function versionOf(db: Connection): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** Whose file this is: refused to any other. */
function claimsOf({ crawl, agent }: OpenOptions): (readonly ['crawl' | 'agent', string])[] {
  return [
    ['crawl', crawl],
    ['agent', agent],
  ];
}

/** Undefined while the file is not claimed. */
function claimIn(db: Connection, key: 'crawl' | 'agent'): string | undefined {
  if (versionOf(db) === 0) return undefined;
  return db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck().get(key);
}

function migrate(db: Connection): void {
  for (let step = versionOf(db); step < MIGRATIONS.length; step++) {
    db.transaction(() => {
      db.exec(MIGRATIONS[step]!);
      db.pragma(`user_version = ${step + 1}`);
    })();
  }
}

/** Writes in any case, so that a file that may only be read fails here and not in a turn. */
function claim(db: Connection, options: OpenOptions): void {
  const save = db.prepare<[string, string]>('INSERT OR IGNORE INTO meta VALUES (?, ?)');
  db.transaction(() => {
    for (const [key, mine] of claimsOf(options)) save.run(key, mine);
  })();
}

function configure(db: Connection): void {
  db.pragma('synchronous = NORMAL');
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.pragma('temp_store = MEMORY');
  db.pragma('busy_timeout = 2000');
}

/** A database in memory with the same tables, for tests and the simulator. */
export function openInMemory(): Connection {
  const db = new Database(':memory:');
  migrate(db);
  return db;
}
