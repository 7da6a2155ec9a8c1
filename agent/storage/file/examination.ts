// Examines a state file before anything is written to it: whether it exists, which agent and
// version it belongs to, and whether it is sound. It uses a read-only connection, which cannot
// checkpoint the log, so a file that is refused or quarantined stays unchanged byte for byte.
// docs/RELIABILITY.md describes what the check detects and costs.

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { firstDifference } from '../../../config/fingerprint.ts';
import type { Connection } from '../encoding/connection.ts';
import { MIGRATIONS } from '../schema/migrations.ts';
import { inconsistencies } from './consistency.ts';
import { isDamage } from './storage-failure.ts';

export type Examined =
  | { readonly kind: 'absent' }
  | { readonly kind: 'sound' }
  /** `why` is a clause that follows the name of the file. */
  | { readonly kind: 'damaged'; readonly why: string }
  /** The agent must not use the file; `message` includes the remedy. */
  | { readonly kind: 'foreign'; readonly code: 'newer' | 'other_crawl'; readonly message: string };

type Damaged = Extract<Examined, { kind: 'damaged' }>;

/** The crawl and the agent that the file must belong to. */
export interface Claims {
  readonly crawl: string;
  readonly agent: string;
  /** Absent: the crawl is not shared with other networks. */
  readonly network?: string | null;
  /** The rules that identify URLs, as JSON. Absent: any. */
  readonly urls?: string;
}

/** Characters of a finding in a message: a check may report a page of text. */
const FINDING_CHARS_MAX = 200;
/** The write format of a WAL database; a higher one means that only newer versions may write. */
const WRITE_FORMAT_MAX = 2;

/**
 * Throws disk errors; returns damage as a value.
 *
 * @param whole - read every page; else only the schema
 */
export function examine(path: string, claims: Claims, whole: boolean): Examined {
  if (!existsSync(path)) {
    // SQLite would delete a log without its file, and the data that only the log has.
    const logged = sizeOf(`${path}-wal`) > 0;
    return logged ? { kind: 'damaged', why: 'is missing, but its log exists' } : { kind: 'absent' };
  }
  // SQLite would treat it as a new database and delete its log.
  if (sizeOf(path) === 0) return { kind: 'damaged', why: 'is empty (0 bytes)' };
  // SQLite would open such a file read-only. If there is a log, it may hold a valid header.
  const format = writeFormatOf(path);
  if (format > WRITE_FORMAT_MAX && sizeOf(`${path}-wal`) === 0) {
    const why = `is damaged (byte 18 of its header is ${format}; SQLite writes 1 or 2)`;
    return { kind: 'damaged', why };
  }
  return look(path, (db) => {
    const found = foreignIn(db, path, claims) ?? (whole ? damageIn(db) : lossIn(db));
    return found ?? { kind: 'sound' };
  });
}

/** The reason why this agent must not use the file, or null. Does not look for damage. */
export function foreignState(path: string, claims: Claims): string | null {
  if (sizeOf(path) === 0) return null;
  const found = look(path, (db) => foreignIn(db, path, claims) ?? { kind: 'sound' as const });
  return found.kind === 'foreign' ? found.message : null;
}

/** Byte 18 of the header (sqlite.org/fileformat.html, 1.3.3); 0 if the file is shorter. */
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
 * The full check of a file that is in use. It checks table by table, so no read transaction lasts
 * longer than the check of one table. Throws disk errors.
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
    const message = error instanceof Error ? error.message : '';
    // The schema format is invalid. SQLite reports it as SQLITE_ERROR, so only the text shows it.
    if (message === 'unsupported file format') return { kind: 'damaged', why: `has an ${message}` };
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
  for (const key of ['crawl', 'agent', 'network'] as const) {
    const [theirs, ours = null] = [metaOf(db, key), claims[key]];
    if (theirs === undefined || ours === null || theirs === ours) continue;
    if (key !== 'agent' && isUnused(db)) continue;
    const name = { crawl: 'name', agent: null, network: 'dedup.network' }[key];
    const restore = name === null ? '' : `restore '${name}: ${theirs}' in the config, or `;
    // The directory of another agent was moved or copied here, and --fresh would empty the original.
    const fresh = key === 'agent' ? '' : 'use launch --fresh, or ';
    const message =
      `${path} belongs to ${key} '${theirs}', not '${ours}'; ${restore}name another ` +
      `directory with --data; to discard this state, ${fresh}move it away`;
    return { kind: 'foreign', code: 'other_crawl', message };
  }
  return otherUrlsIn(db, path, claims);
}

/** The known URLs were identified by other rules: the same page would be crawled again. */
function otherUrlsIn(db: Connection, path: string, { urls }: Claims): Examined | null {
  const theirs = metaOf(db, 'urls');
  if (theirs === undefined || urls === undefined || isUnused(db)) return null;
  const other = firstDifference(theirs, urls);
  if (other === null) return null;
  const message =
    `${path} was crawled with 'urls.${other.path}' ${other.a}, not ${other.b}; restore it in the ` +
    'config, or name another directory with --data; to discard this state, use launch --fresh';
  return { kind: 'foreign', code: 'other_crawl', message };
}

/** The name of the other crawl that the file belongs to; undefined if `crawl` may use the file. */
export function otherCrawlIn(db: Connection, crawl: string): string | undefined {
  const name = metaOf(db, 'crawl');
  return name === crawl || isUnused(db) ? undefined : name;
}

/**
 * An agent that the members refused, usually because of a mistyped crawl name, leaves an unused
 * file: it has no hosts and never joined. Another crawl can use the file without loss.
 */
function isUnused(db: Connection): boolean {
  if (versionOf(db) !== MIGRATIONS.length || lossIn(db) !== null) return false;
  return db.prepare<[], number>(IS_USED).pluck().get() === 0;
}

/** 1 if the agent ever joined or the file has a host, an outbox or directives; else 0. */
export const IS_USED = `
  SELECT EXISTS (SELECT 1 FROM host_rows) OR EXISTS (SELECT 1 FROM outbox)
    OR EXISTS (SELECT 1 FROM order_rows)
    OR EXISTS (SELECT 1 FROM event_rows WHERE kind IN ('join', 'complete', 'leave')) AS used`;

/**
 * Runs the full integrity check, which compares indexes with tables. SQLite's quick check is twice
 * as fast and detects a quarter of the flipped bits.
 *
 * @param tables - checked one by one; absent: all at once, together with the list of free pages
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
    if (done) return value === null ? null : { kind: 'damaged', why: `is inconsistent (${value})` };
  }
}

/** Null if the result is `ok`. A line `*** in database …` may precede the findings. */
function firstFinding(result: unknown): string | null {
  if (result === 'ok') return null;
  const lines = String(result).split('\n');
  const finding = lines.find((line) => !line.startsWith('***')) ?? lines[0]!;
  return finding.slice(0, FINDING_CHARS_MAX);
}

/** The finding of `quickCheck`, and the tables that it did not reach. */
export interface QuickCheck {
  readonly damage: string | null;
  readonly unchecked: readonly string[];
}

/**
 * Runs SQLite's quick check on a file that is in use. It reads every page of every table and index,
 * so its duration grows with the file. It does not compare indexes with tables.
 *
 * @param mayGoOn - called before each table; false stops the check
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

/** The first table, index, view or column that is missing from the schema of its version. */
function lossIn(db: Connection): Damaged | null {
  const version = versionOf(db);
  if (version < 0) return { kind: 'damaged', why: `is damaged (its schema version is ${version})` };
  const found = schemaOf(db);
  const expected = schemaOfVersion(version);
  const latest = schemaOfVersion(MIGRATIONS.length);
  const isLatest = version === MIGRATIONS.length;
  // Earlier schemas are compared by name only: the spelling of their SQL varies between releases.
  const lost = [...expected].find(([name, sql]) =>
    isLatest ? found.get(name) !== sql : !found.has(name),
  );
  if (lost) return { kind: 'damaged', why: `lacks ${lost[0]} of its schema` };
  const early = [...latest.keys()].find((name) => found.has(name) && !expected.has(name));
  const why = `is damaged (its schema version is ${version}, which has no ${early})`;
  return early === undefined ? null : { kind: 'damaged', why };
}

type Schema = ReadonlyMap<string, string | null>;

/** By version. To create one takes longer than the rest of an examination. */
const schemas = new Map<number, Schema>();

function schemaOfVersion(version: number): Schema {
  const known = schemas.get(version);
  if (known) return known;
  const db = new Database(':memory:');
  for (const step of MIGRATIONS.slice(0, version)) db.exec(step);
  const schema = schemaOf(db);
  db.close();
  schemas.set(version, schema);
  return schema;
}

/** The SQL of each table, index and view; an entry without SQL for each column of a table. */
function schemaOf(db: Connection): Schema {
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
