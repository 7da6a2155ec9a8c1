// Looks at a state file before anything is written to it: whether it is there, whose it is, of
// which version, and whether it is sound. It reads through a read-only connection, which cannot
// move the log into the file, so a file that is refused or set aside stays byte for byte as it was
// found. Called by `openState`; of a large file the long part runs in a process of its own, while
// the agent crawls (background-check.ts). docs/RELIABILITY.md tells what the check sees and costs.

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Connection } from '../encoding/connection.ts';
import { MIGRATIONS } from '../schema/migrations.ts';
import { inconsistencies } from './consistency.ts';
import { isDamage } from './storage-failure.ts';

export type Examined =
  | { readonly kind: 'absent' }
  | { readonly kind: 'sound' }
  /** `why` is a clause that follows the name of the file. */
  | { readonly kind: 'damaged'; readonly why: string }
  /** Not this agent's to touch; `message` with the remedy. */
  | { readonly kind: 'foreign'; readonly code: 'newer' | 'other_crawl'; readonly message: string };

type Damaged = Extract<Examined, { kind: 'damaged' }>;

/** Whose file it must be. */
export interface Claims {
  readonly crawl: string;
  readonly agent: string;
}

/** What a check finds may run to a page; the first finding tells enough. */
const FINDING_CHARS_MAX = 200;
/** That of a database with a log; a higher one says that only newer versions may write. */
const WRITE_FORMAT_MAX = 2;

/** Throws errors of the disk; damage is a value. `whole`: every page is read, else the schema. */
export function examine(path: string, claims: Claims, whole: boolean): Examined {
  if (!existsSync(path)) {
    // Without the file SQLite would delete the log, and with it whatever was not in the file yet.
    const logged = sizeOf(`${path}-wal`) > 0;
    return logged ? { kind: 'damaged', why: 'is gone, its log is not' } : { kind: 'absent' };
  }
  // SQLite would take it for a new database, and delete its log.
  if (sizeOf(path) === 0) return { kind: 'damaged', why: 'is empty (0 bytes)' };
  // SQLite would only read it; the log may have a sound header.
  const format = writeFormatOf(path);
  if (format > WRITE_FORMAT_MAX && sizeOf(`${path}-wal`) === 0) {
    const why = `is damaged (byte 18 of its header is ${format}, where SQLite writes 1 or 2)`;
    return { kind: 'damaged', why };
  }
  return look(path, (db) => {
    const found = foreignIn(db, path, claims) ?? (whole ? damageIn(db) : lossIn(db));
    return found ?? { kind: 'sound' };
  });
}

/** Why the file is not for this agent to use, or null; damage is not looked for. */
export function foreignState(path: string, claims: Claims): string | null {
  if (sizeOf(path) === 0) return null;
  const found = look(path, (db) => foreignIn(db, path, claims) ?? { kind: 'sound' as const });
  return found.kind === 'foreign' ? found.message : null;
}

/** Byte 18 of the header (sqlite.org/fileformat.html, 1.3.3); 0 of a file that ends before it. */
function writeFormatOf(path: string): number {
  const header = Buffer.alloc(19);
  const file = openSync(path, 'r');
  try {
    readSync(file, header);
  } finally {
    closeSync(file);
  }
  return header[18]!;
}

/**
 * The long part alone, of a file that is written to meanwhile: table by table, so that no read
 * transaction lasts longer than the check of one table. Throws errors of the disk.
 */
export function examineWhole(path: string): Damaged | { readonly kind: 'sound' } {
  return look(path, (db) => damageIn(db, namesIn(db, 'table')) ?? { kind: 'sound' });
}

function look<Found>(path: string, at: (db: Connection) => Found): Found | Damaged {
  let db: Connection | undefined;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true });
    db.pragma('cell_size_check = ON');
    return at(db);
  } catch (error) {
    const code = error instanceof Database.SqliteError ? error.code : '';
    const said = error instanceof Error ? error.message : '';
    // By SQLITE_ERROR and its text alone: a format of schemas that no SQLite has ever written.
    if (said === 'unsupported file format') return { kind: 'damaged', why: `has an ${said}` };
    if (!isDamage(code)) throw error;
    return { kind: 'damaged', why: `is not a readable SQLite database (${code})` };
  } finally {
    db?.close();
  }
}

function foreignIn(db: Connection, path: string, claims: Claims): Examined | null {
  const version = versionOf(db);
  if (version > MIGRATIONS.length) {
    const message =
      `${path} has schema ${version}, this ubiring knows ${MIGRATIONS.length}: ` +
      'it was written by a newer version; upgrade, or name another directory with --data';
    return { kind: 'foreign', code: 'newer', message };
  }
  const tables = namesIn(db, 'table');
  if (version === 0 && tables.size > 0) {
    const message = `${path} is another program's database; name another directory with --data`;
    return { kind: 'foreign', code: 'other_crawl', message };
  }
  if (!tables.has('meta')) return null;
  for (const key of ['crawl', 'agent'] as const) {
    const theirs = key === 'crawl' ? otherCrawlIn(db, claims.crawl) : metaOf(db, key);
    if (theirs === undefined || theirs === claims[key]) continue;
    const restore = key === 'crawl' ? `restore 'name: ${theirs}' in the config, or ` : '';
    const message =
      `${path} belongs to ${key} '${theirs}', not '${claims[key]}'; ${restore}name another ` +
      'directory with --data; to give up what is there, delete it with launch --fresh';
    return { kind: 'foreign', code: 'other_crawl', message };
  }
  return null;
}

/** The name of the other crawl that the file belongs to; undefined where it may be of `crawl`. */
export function otherCrawlIn(db: Connection, crawl: string): string | undefined {
  const name = metaOf(db, 'crawl');
  return name === crawl || isUnused(db) ? undefined : name;
}

/**
 * An agent that the others refused, for a mistyped name as a rule, leaves such a file: it knows of no
 * host, and was never let in. Nothing is lost where another crawl takes it over.
 */
function isUnused(db: Connection): boolean {
  if (versionOf(db) !== MIGRATIONS.length || lossIn(db) !== null) return false;
  return db.prepare<[], number>(IS_USED).pluck().get() === 0;
}

/** 1 where the agent has ever joined or knows of a host, else 0. */
export const IS_USED = `
  SELECT EXISTS (SELECT 1 FROM host_rows) OR EXISTS (SELECT 1 FROM outbox)
    OR EXISTS (SELECT 1 FROM order_rows)
    OR EXISTS (SELECT 1 FROM event_rows WHERE kind IN ('join', 'complete', 'leave')) AS used`;

/**
 * The full check, which compares indexes with tables: the quick one is twice as fast and sees a
 * quarter of the flipped bits.
 *
 * @param tables - checked one by one; absent: all at once, and the list of free pages with them
 */
function damageIn(db: Connection, tables?: Iterable<string>): Damaged | null {
  for (const part of tables ?? [1]) {
    const finding = firstFinding(db.pragma(`integrity_check(${part})`, { simple: true }));
    if (finding !== null) return { kind: 'damaged', why: `is damaged (${finding})` };
  }
  const lost = lossIn(db);
  if (lost || versionOf(db) < MIGRATIONS.length) return lost;
  const pieces = inconsistencies(db);
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value === null ? null : { kind: 'damaged', why: `does not add up (${value})` };
  }
}

/** Null where the check says `ok`. Above what it found in trees it has a line with the database. */
function firstFinding(said: unknown): string | null {
  if (said === 'ok') return null;
  const lines = String(said).split('\n');
  const finding = lines.find((line) => !line.startsWith('***')) ?? lines[0]!;
  return finding.slice(0, FINDING_CHARS_MAX);
}

/** What `quickCheck` has found, and the tables that it did not come to. */
export interface QuickCheck {
  readonly damage: string | null;
  readonly unchecked: readonly string[];
}

/**
 * SQLite's quick check of a file that is read by others meanwhile. It reads every page of every table
 * and index, which takes as long as the file is large, and compares no index with its table.
 *
 * @param mayGoOn - asked before each table
 */
export function quickCheck(db: Connection, mayGoOn: () => boolean): QuickCheck {
  const tables = [...namesIn(db, 'table')];
  for (const [k, table] of tables.entries()) {
    if (!mayGoOn()) return { damage: null, unchecked: tables.slice(k) };
    const damage = firstFinding(db.pragma(`quick_check(${table})`, { simple: true }));
    if (damage !== null) return { damage, unchecked: [] };
  }
  return { damage: null, unchecked: [] };
}

/** What is gone of the tables, indexes and views of its version. */
function lossIn(db: Connection): Damaged | null {
  const version = versionOf(db);
  if (version < 0) return { kind: 'damaged', why: `is damaged (it says its schema is ${version})` };
  const found = schemaOf(db);
  const expected = schemaOfVersion(version);
  const latest = schemaOfVersion(MIGRATIONS.length);
  const isLatest = version === MIGRATIONS.length;
  // Of former versions by name: how their text was spelt may differ between programs.
  const lost = [...expected].find(([name, sql]) =>
    isLatest ? found.get(name) !== sql : !found.has(name),
  );
  if (lost) return { kind: 'damaged', why: `has lost ${lost[0]} of its schema` };
  const early = [...latest.keys()].find((name) => found.has(name) && !expected.has(name));
  const why = `is damaged (it says its schema is ${version}, which has no ${early})`;
  return early === undefined ? null : { kind: 'damaged', why };
}

function schemaOfVersion(version: number): Map<string, string | null> {
  const db = new Database(':memory:');
  for (const step of MIGRATIONS.slice(0, version)) db.exec(step);
  const schema = schemaOf(db);
  db.close();
  return schema;
}

/** The SQL of each table, index and view; an entry without SQL for each column of a table. */
function schemaOf(db: Connection): Map<string, string | null> {
  const rows = db.prepare<[], { name: string; sql: string | null }>(
    `SELECT name, sql FROM sqlite_schema UNION ALL
     SELECT t.name || '.' || c.name, NULL FROM sqlite_schema t, pragma_table_info(t.name) c
     WHERE t.type = 'table'`,
  );
  return new Map(rows.all().map(({ name, sql }) => [name, sql]));
}

function namesIn(db: Connection, type: string): Set<string> {
  const names = db.prepare<[string], string>('SELECT name FROM sqlite_schema WHERE type = ?');
  return new Set(names.pluck().all(type));
}

function metaOf(db: Connection, key: string): string | undefined {
  return db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck().get(key);
}

/** The number of the last migration that was applied. */
export function versionOf(db: Connection): number {
  return Number(db.pragma('user_version', { simple: true }));
}

export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
