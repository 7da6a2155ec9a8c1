// Copies the rows of some views of a state file into a file of its own, so that another machine can
// query them. The copy has what readers of a state file need besides: the crawl's name, the hosts, and
// the events. It is made in one read transaction, which ends before the copy is sent.

import Database from 'better-sqlite3';
import type { Connection } from '../encoding/connection.ts';
import { MIGRATIONS } from '../schema/migrations.ts';
import { versionOf } from './examination.ts';
import type { Readable } from './reading.ts';

/** Tables of every extract, with the columns that readers use. */
const COMMON = {
  meta: 'SELECT key, value FROM meta',
  host_rows: 'SELECT number, host, owned FROM host_rows WHERE owned',
  event_rows: 'SELECT id, at, kind, detail FROM event_rows',
} as const;

/** Must be 0: reading a view or a virtual table may take forever. */
const NON_TABLES = "SELECT count(*) FROM pragma_table_list WHERE type <> 'table'";

/** Opens an extract, which another program may have made. */
export function openExtract(path: string, views: readonly string[]): Readable {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const [version, known] = [versionOf(db), MIGRATIONS.length];
    if (version !== known) {
      const why = `has schema ${version}, and this ubiring has ${known}: use one version everywhere`;
      db.close();
      return { ok: false, why };
    }
    const others = db.prepare<[], number>(NON_TABLES).pluck().get()!;
    if (others > 0) throw new Error('it has a view or a virtual table');
    for (const sql of [...Object.values(COMMON), ...views.map((view) => `SELECT 1 FROM ${view}`)]) {
      db.prepare(sql);
    }
    return { ok: true, db, isCopy: true };
  } catch (error) {
    db.close();
    return {
      ok: false,
      why: `is not an extract (${error instanceof Error ? error.message : error})`,
    };
  }
}

/**
 * @param from - a state file, open for reading
 * @param views - names of its views
 * @param path - of a file that does not exist yet
 */
export function writeExtract(from: Connection, views: readonly string[], path: string): void {
  const to = new Database(path);
  try {
    // A crash needs no rollback: a partial copy is discarded.
    to.pragma('journal_mode = OFF');
    to.pragma('synchronous = OFF');
    to.exec('BEGIN');
    const tables = [
      ...Object.entries(COMMON),
      ...views.map((view) => [view, `SELECT * FROM ${view}`]),
    ];
    for (const [table, sql] of tables) copy(from, to, table!, sql!);
    to.pragma(`user_version = ${versionOf(from)}`);
    to.exec('COMMIT');
  } finally {
    to.close();
  }
}

function copy(from: Connection, to: Connection, table: string, sql: string): void {
  const rows = from.prepare<unknown[], unknown[]>(sql).raw().safeIntegers();
  const names = rows.columns().map(({ name }) => name);
  to.exec(`CREATE TABLE ${table} (${names.join(', ')})`);
  const insert = to.prepare(`INSERT INTO ${table} VALUES (${names.map(() => '?').join(', ')})`);
  for (const row of rows.iterate()) insert.run(row);
  // Queries look for the rows of one host if several files have it.
  if (names.includes('host')) to.exec(`CREATE INDEX ${table}_host ON ${table} (host)`);
}
