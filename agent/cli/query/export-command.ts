// `ubiring export`: prints the finished pages as JSON lines, their URLs, or the link graph. The
// rows stream from the merged views of all state files, so memory does not grow with their number.

import type Database from 'better-sqlite3';
import { assertNever } from '../../core/protocol/assert-never.ts';
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

/** Characters of one piece of output: large enough for few calls, small enough for memory. */
const CHUNK_CHARS = 64 * 1024;

const NO_LINKS =
  'the crawl has kept no links: the graph has only the first link found to each known URL; ' +
  "with 'archive.links: true' in the config the next crawl keeps all links";

export async function exportCrawl(
  file: string,
  flags: CommonFlags & { readonly format?: ExportFormat },
): Promise<ExitCode> {
  const crawl = await openCrawlFiles(file, flags, 'nothing to export');
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

/** Pieces of about `CHUNK_CHARS`, each of whole lines. */
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

/** Lines of tab-separated values. Canonical URLs contain neither tabs nor line breaks. */
function* tabbed(db: Database.Database, sql: string): Generator<string> {
  for (const row of db.prepare<unknown[], string[]>(sql).raw().iterate()) {
    yield `${row.join('\t')}\n`;
  }
}

function hasLinks(file: StateFile): boolean {
  return !file.rows(HAS_LINKS).next().done;
}
