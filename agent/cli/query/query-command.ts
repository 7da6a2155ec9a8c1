// `ubiring query`: one read-only SQL statement over the state of all agents, running or not. What the
// statement can reach is a database in memory that has the views and nothing else, so it can change
// nothing, whatever it says; the files behind the views are open for reading only. No signal is
// handled here: Ctrl-C ends a query that would run for ever.

import type Database from 'better-sqlite3';
import { caller } from '../common/caller.ts';
import { type ExitCode, messageOf } from '../common/exit-code.ts';
import type { CommonFlags } from '../common/load-config.ts';
import { say } from '../common/output.ts';
import { isDamage } from '../common/query-files.ts';
import { openCrawlFiles } from '../state-files/crawl-files.ts';
import { Outlet } from './outlet.ts';
import { type Cell, type Format, formatRows } from './query-format.ts';

export async function query(
  file: string,
  sql: string,
  flags: CommonFlags & { readonly format?: Format; readonly json?: boolean },
): Promise<ExitCode> {
  const crawl = openCrawlFiles(file, flags, 'nothing can be asked yet');
  if (!crawl.ok) return crawl.code;
  const { views } = crawl;
  const db = views.open();
  const outlet = new Outlet();
  let code: ExitCode;
  try {
    const statement = prepareQuery(db, sql);
    if (typeof statement === 'string') {
      say(statement);
      return 2;
    }
    code = await answer(statement, flags.json ? 'json' : (flags.format ?? 'table'), outlet);
  } finally {
    db.close();
    views.close();
  }
  if (code !== 0) return code;
  await outlet.end();
  return crawl.end();
}

async function answer(
  statement: Database.Statement<unknown[], Cell[]>,
  format: Format,
  outlet: Outlet,
): Promise<ExitCode> {
  const names = statement.columns().map(({ name }) => name);
  const { stdout } = caller();
  const width = stdout.isTTY ? (stdout.columns ?? null) : null;
  // Integers of any size, whole.
  const rows = statement.raw().safeIntegers().iterate();
  try {
    for (const text of formatRows(format, names, rows, width)) await outlet.write(text);
  } catch (error) {
    say(`the query failed: ${messageOf(error)}`);
    return isDamage(error) ? 4 : 2;
  }
  return 0;
}

/** @returns the statement, or what is wrong with it */
export function prepareQuery(
  db: Database.Database,
  sql: string,
): Database.Statement<unknown[], Cell[]> | string {
  try {
    let statement = db.prepare<unknown[], Cell[]>(sql);
    // ATTACH and the like count as read-only, but answer nothing.
    if (!statement.readonly || !statement.reader) {
      return 'only statements that read are answered, such as SELECT: a query changes nothing';
    }
    if (readsTwice(db, sql)) {
      materialise(db);
      statement = db.prepare<unknown[], Cell[]>(sql);
    }
    return statement;
  } catch (error) {
    return `the query is not valid: ${messageOf(error)}`;
  }
}

/** Whether the plan goes through more than one view, as every join does. */
function readsTwice(db: Database.Database, sql: string): boolean {
  if (/^\s*explain\b/i.test(sql)) return false;
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps.filter(({ detail }) => detail.includes('VIRTUAL TABLE')).length > 1;
}

/**
 * For a join SQLite would read a view again for each row of the other. Behind these the rows are
 * first copied into a table of its own (on disk if they are many), which it can index.
 */
function materialise(db: Database.Database): void {
  for (const view of ['pages', 'frontier', 'skipped', 'hosts', 'links', 'events']) {
    db.exec(
      `CREATE TEMP VIEW ${view} AS WITH rows AS MATERIALIZED (SELECT * FROM main.${view})
       SELECT * FROM rows`,
    );
  }
}
