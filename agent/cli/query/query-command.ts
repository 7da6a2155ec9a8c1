// `ubiring query`: runs one read-only SQL statement over the state of all agents, running or not.
// The statement sees only a database in memory that contains the views, and the state files behind
// the views are open for reading only. Signals keep their default action, so Ctrl-C ends a long
// query.

import type Database from 'better-sqlite3';
import { caller } from '../common/caller.ts';
import { type ExitCode, messageOf, scratchEnd } from '../common/exit-code.ts';
import type { CommonFlags } from '../common/load-config.ts';
import { say } from '../common/output.ts';
import { isDamage } from '../common/query-files.ts';
import { openCrawlFiles } from '../state-files/crawl-files.ts';
import { viewColumns, viewsReadBy } from '../state-files/query-views.ts';
import { Outlet } from './outlet.ts';
import { notReading, queryError } from './query-errors.ts';
import { type Cell, type Format, formatRows } from './query-format.ts';

export async function query(
  file: string,
  sql: string,
  flags: CommonFlags & { readonly format?: Format; readonly json?: boolean },
): Promise<ExitCode> {
  const crawl = await openCrawlFiles(file, flags, 'nothing to query yet', viewsReadBy(sql));
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
    const format = flags.json ? 'json' : (flags.format ?? 'table');
    code = await answer({ statement, sql, format }, outlet);
  } finally {
    db.close();
    views.close();
  }
  if (code !== 0) return code;
  await outlet.end();
  return crawl.end();
}

async function answer(
  asked: {
    readonly statement: Database.Statement<unknown[], Cell[]>;
    readonly sql: string;
    readonly format: Format;
  },
  outlet: Outlet,
): Promise<ExitCode> {
  const { statement, sql, format } = asked;
  const names = statement.columns().map(({ name }) => name);
  const { stdout } = caller();
  const width = stdout.isTTY ? (stdout.columns ?? null) : null;
  // BigInt, because SQLite has integers beyond 2 ** 53.
  const rows = statement.raw().safeIntegers().iterate();
  try {
    for (const text of formatRows(format, names, rows, width)) await outlet.write(text);
  } catch (error) {
    const end = scratchEnd(error);
    if (end !== null) throw end;
    const isDamaged = isDamage(error);
    const why = isDamaged ? messageOf(error) : queryError(messageOf(error), sql);
    say(`the query failed: ${why}`);
    return isDamaged ? 4 : 2;
  }
  return 0;
}

/** @returns the statement, or an error message */
export function prepareQuery(
  db: Database.Database,
  sql: string,
): Database.Statement<unknown[], Cell[]> | string {
  try {
    let statement = db.prepare<unknown[], Cell[]>(sql);
    // ATTACH counts as read-only, but returns no rows.
    if (!statement.readonly || !statement.reader) {
      return notReading;
    }
    if (readsTwice(db, sql)) {
      materialise(db);
      statement = db.prepare<unknown[], Cell[]>(sql);
    }
    return statement;
  } catch (error) {
    return `the query is not valid: ${queryError(messageOf(error), sql)}`;
  }
}

/** Whether the plan scans more than one view, as every join does. */
function readsTwice(db: Database.Database, sql: string): boolean {
  if (/^\s*explain\b/i.test(sql)) return false;
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps.filter(({ detail }) => detail.includes('VIRTUAL TABLE')).length > 1;
}

/**
 * In a join SQLite would read one view again for each row of the other. These temporary views copy
 * the rows to an internal table first, which SQLite can index and which moves to disk if it is
 * large.
 */
function materialise(db: Database.Database): void {
  for (const view of Object.keys(viewColumns)) {
    db.exec(
      `CREATE TEMP VIEW ${view} AS WITH rows AS MATERIALIZED (SELECT * FROM main.${view})
       SELECT * FROM rows`,
    );
  }
}
