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
  HAS_LINKS_OF,
} from '../../storage/reads/export-queries.ts';
import { type ExitCode, messageOf, scratchEnd } from '../common/exit-code.ts';
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

/** Pages of which it is remembered whether their links are stored. */
const PAGES_MAX = 65_536;

/** @param edges - links of pages without stored links */
const someLinks = (edges: number) =>
  `the crawl has not kept the links of all pages: ${edges} links of the graph are only the first ` +
  "link found to a URL; with 'archive.links: true' in the config, launch with --refresh reads the " +
  'links of all pages anew';

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
    const format = flags.format ?? exportFormats[0];
    const onPartial = (edges: number) => say(someLinks(edges));
    for (const text of linesOf(format, db, files, onPartial)) await outlet.write(text);
  } catch (error) {
    const end = scratchEnd(error);
    if (end !== null) throw end;
    if (!isDamage(error)) throw error;
    views.onProblem(messageOf(error));
  } finally {
    db.close();
    views.close();
  }
  await outlet.end();
  return crawl.end();
}

/**
 * Pieces of about `CHUNK_CHARS`, each of whole lines.
 *
 * @param onPartial - called with the number of first links if a graph has some besides stored links
 */
export function* linesOf(
  format: ExportFormat,
  db: Database.Database,
  files: readonly StateFile[],
  onPartial: (edges: number) => void = () => {},
): Generator<string> {
  let gathered = '';
  for (const line of rowsOf(format, db, files, onPartial)) {
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
  onPartial: (edges: number) => void,
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
      yield* graph(db, files.filter(hasLinks), onPartial);
      return;
    default:
      return assertNever(format);
  }
}

/**
 * The stored links of each page, or, of a page without them, the first links found to URLs.
 * `archive.links` may have changed during the crawl.
 *
 * @param holders - files with links
 */
function* graph(
  db: Database.Database,
  holders: readonly StateFile[],
  onPartial: (edges: number) => void,
): Generator<string> {
  if (holders.length > 0) yield* tabbed(db, EXPORT_LINKS);
  const known = new Map<string, boolean>();
  const isStored = (source: string) => {
    let is = known.get(source);
    if (is === undefined) {
      is = holders.some((file) => !file.rows(HAS_LINKS_OF, source).next().done);
      if (known.size === PAGES_MAX) known.clear();
      known.set(source, is);
    }
    return is;
  };
  let edges = 0;
  for (const sql of EXPORT_REFERRERS) {
    for (const [source, target] of db.prepare<unknown[], string[]>(sql).raw().iterate()) {
      if (isStored(source!)) continue;
      yield `${source}\t${target}\n`;
      // The links of a robots.txt file are never stored.
      if (!source!.endsWith('/robots.txt')) edges++;
    }
  }
  if (holders.length > 0 && edges > 0) onPartial(edges);
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
