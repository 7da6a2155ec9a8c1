// `ubiring export`: what a crawl has come to, as a stream of lines: every finished page as JSON, the
// URLs alone, or the graph. Read from the views over all agents' files, merged as a query sees
// them, row by row, so that ten million rows take no more memory than ten. For a slow reader the
// rest goes into a temporary file (outlet.ts).

import type Database from 'better-sqlite3';
import {
  EXPORT_LINKS,
  EXPORT_PAGES,
  EXPORT_REFERRERS,
  EXPORT_URLS,
  HAS_LINKS,
} from '../../storage/reads/export-queries.ts';
import { type ExitCode, messageOf } from '../common/exit-code.ts';
import type { CommonFlags } from '../common/load-config.ts';
import { say } from '../common/output.ts';
import { isDamage, type StateFile } from '../common/query-files.ts';
import { openCrawlFiles } from '../state-files/crawl-files.ts';
import { type ExportFormat, exportFormats } from './export-formats.ts';
import { Outlet } from './outlet.ts';
import { type Cell, jsonLines } from './query-format.ts';

/** Text gathered before it is written: few system calls, little memory. */
const CHUNK_CHARS = 64 * 1024;

/** Said on stderr, before the lines. */
const NO_LINKS =
  'the crawl has kept no links: the graph has one line for each known URL, from the page that it ' +
  "was first found on; with 'archive.links: true' in the config the next crawl keeps all links";

export async function exportCrawl(
  file: string,
  flags: CommonFlags & { readonly format?: ExportFormat },
): Promise<ExitCode> {
  const crawl = openCrawlFiles(file, flags, 'nothing can be exported');
  if (!crawl.ok) return crawl.code;
  const { views, files } = crawl;
  if (flags.format === 'graph' && !files.some(hasLinks)) say(NO_LINKS);
  const db = views.open();
  const outlet = new Outlet();
  try {
    for (const text of linesOf(flags.format ?? exportFormats[0], db, files))
      await outlet.write(text);
  } catch (error) {
    if (!isDamage(error)) throw error;
    views.onProblem(messageOf(error));
  } finally {
    db.close();
    views.close();
  }
  await outlet.end();
  return crawl.end();
}

/** Whole lines, gathered into pieces of some size. */
export function* linesOf(
  format: ExportFormat,
  db: Database.Database,
  files: readonly StateFile[],
): Generator<string> {
  let gathered = '';
  for (const line of rowsOf(format, db, files)) {
    gathered += line;
    if (gathered.length < CHUNK_CHARS) continue;
    yield gathered;
    gathered = '';
  }
  if (gathered !== '') yield gathered;
}

function* rowsOf(
  format: ExportFormat,
  db: Database.Database,
  files: readonly StateFile[],
): Generator<string> {
  switch (format) {
    case 'jsonl': {
      const statement = db.prepare<unknown[], Cell[]>(EXPORT_PAGES);
      const names = statement.columns().map(({ name }) => name);
      yield* jsonLines(names, statement.raw().safeIntegers().iterate());
      return;
    }
    case 'urls':
      yield* tabbed(db, EXPORT_URLS);
      return;
    case 'graph':
      if (files.some(hasLinks)) return yield* tabbed(db, EXPORT_LINKS);
      for (const sql of EXPORT_REFERRERS) yield* tabbed(db, sql);
      return;
    default:
      return assertNever(format);
  }
}

/** Canonical URLs hold neither tabs nor line ends. */
function* tabbed(db: Database.Database, sql: string): Generator<string> {
  for (const row of db.prepare<unknown[], string[]>(sql).raw().iterate()) {
    yield `${row.join('\t')}\n`;
  }
}

function hasLinks(file: StateFile): boolean {
  return !file.rows(HAS_LINKS).next().done;
}

function assertNever(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
