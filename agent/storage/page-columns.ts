// The record of a finished page as columns of `page_records`, in one place for the two tables that
// write it: pages fetched here (url-table.ts) and pages that came with a copy (row-table.ts). What
// few pages have is absent from the row that travels and NULL in the file.

import type { Host, PageRow } from '../core/messages.ts';
import { identityOf, keyOf } from '../url/url-key.ts';
import type { Connection } from './database.ts';

/** What every page has, if only as null. */
const ALWAYS = {
  status: 'status',
  error: 'error',
  contentType: 'content_type',
  bytes: 'bytes',
  digest: 'digest',
  fetchedAt: 'fetched_at',
  durationMs: 'duration_ms',
  redirectTo: 'redirect_to',
} as const;

const SOMETIMES = {
  warcFile: 'warc_file',
  warcOffset: 'warc_offset',
  canonical: 'canonical',
  noindex: 'noindex',
  noarchive: 'noarchive',
  etag: 'etag',
  lastModified: 'last_modified',
  payload: 'payload',
  originalUrl: 'original_url',
  originalAt: 'original_at',
  unchanged: 'unchanged',
} as const satisfies { readonly [K in Exclude<keyof PageRow, keyof typeof ALWAYS>]-?: string };

const NAMES = { ...ALWAYS, ...SOMETIMES };

/** Numbers in the file. */
const FLAGS: ReadonlySet<keyof PageRow> = new Set(['noindex', 'noarchive', 'unchanged']);

/** A row of the columns, by the names of {@link PageRow}. */
export type StoredPage = { readonly [K in keyof PageRow]-?: string | number | null };

/** For the list of an INSERT. */
export const PAGE_COLUMNS = Object.values(NAMES).join(', ');
/** Its VALUES, as named parameters: of {@link pageParameters}. */
export const PAGE_VALUES = Object.keys(NAMES)
  .map((name) => `$${name}`)
  .join(', ');
const PAGE_SELECT = Object.entries(NAMES)
  .map(([name, column]) => `${column} AS ${name}`)
  .join(', ');

/** Only what belongs to the columns; what is absent as null. */
export function pageParameters(page: PageRow): StoredPage {
  const values: Record<string, string | number | null> = {};
  for (const name of Object.keys(NAMES) as (keyof PageRow)[]) {
    const value = page[name] ?? null;
    values[name] = typeof value === 'boolean' ? Number(value) : value;
  }
  return values as StoredPage;
}

/** The row as it travels. */
function pageOf(stored: StoredPage): PageRow {
  const page: Record<string, unknown> = {};
  for (const name of Object.keys(NAMES) as (keyof PageRow)[]) {
    const value = stored[name];
    if (value === null && !(name in ALWAYS)) continue;
    page[name] = FLAGS.has(name) ? value === 1 : value;
  }
  return page as unknown as PageRow;
}

/** Reads records, by the host and the *found* number of their URLs. */
export function pageReader(
  db: Connection,
  table: 'page_records' | 'former_pages',
): (hostNumber: number, found: number) => PageRow | undefined {
  const read = db.prepare<[number, number], StoredPage>(
    `SELECT ${PAGE_SELECT} FROM ${table} WHERE host = ? AND found = ?`,
  );
  return (hostNumber, found) => {
    const stored = read.get(hostNumber, found);
    return stored && pageOf(stored);
  };
}

/** A URL that a row names: on the same host as its key, any other as it is. */
export function shortUrl(url: string, host: Host): string {
  const after = url.startsWith('https') ? 8 : 7;
  const same = url.startsWith(host, after) && '/:.'.includes(url[after + host.length]!);
  return same ? keyOf(url, host) : url;
}

/** The opposite of {@link shortUrl}: the second character of a key is no `t`. */
export function longUrl(stored: string, host: Host): string {
  return stored[1] === 't' ? stored : identityOf(host, stored);
}
