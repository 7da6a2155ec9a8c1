// The record of a finished page as columns of the file: the names on both sides, and the values
// that the file stores in a shorter form than messages have. A property that few pages have is
// absent in messages and NULL in the file.

import type { Host, PageRow } from '../../core/protocol/messages.ts';
import { identityOf, urlKey } from '../../url/url-key.ts';
import { internedText } from './interned-strings.ts';

/** Properties that every record has, possibly as null. */
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
const COLUMNS = Object.keys(NAMES) as (keyof PageRow)[];

/** Booleans, stored as 0 or 1. */
const FLAGS: ReadonlySet<keyof PageRow> = new Set(['noindex', 'noarchive', 'unchanged']);

/** Texts that many pages share, stored as interned strings. */
const WORDS: ReadonlySet<keyof PageRow> = new Set(['contentType', 'error', 'warcFile']);

/** A record with a value for each column, by the names of {@link PageRow}; strings not interned. */
export type PlainPage = { readonly [K in keyof PageRow]-?: string | number | null };
/** A value as the file stores it. */
export type Stored = string | number | bigint | null | Uint8Array;

/** The column list of an INSERT. */
export const PAGE_COLUMNS = Object.values(NAMES).join(', ');
/** The VALUES of that INSERT: parameters for {@link storedPage}. */
export const PAGE_VALUES = COLUMNS.map(() => '?').join(', ');

/** SQL: a digest as text, whether stored as text or as bytes. */
export const DIGEST_OF = (column: string): string =>
  `CASE typeof(${column}) WHEN 'blob' THEN 'sha256:' || lower(hex(${column})) ELSE ${column} END`;

/** The columns of a SELECT that returns {@link PlainPage}. */
export const PAGE_SELECT = Object.entries(NAMES)
  .map(([name, column]) => `${plainly(name as keyof PageRow, column)} AS ${name}`)
  .join(', ');
/** The same for tables of schema 7, which store all strings as text. */
export const OLD_PAGE_SELECT = Object.entries(NAMES)
  .map(([name, column]) => `${column} AS ${name}`)
  .join(', ');

function plainly(name: keyof PageRow, column: string): string {
  if (name === 'digest') return DIGEST_OF(column);
  return WORDS.has(name) ? internedText(column) : column;
}

/** Only properties with a column; absent ones become null. */
export function plainPage(page: PageRow): PlainPage {
  const values: Record<string, string | number | null> = {};
  for (const name of COLUMNS) {
    const value = page[name] ?? null;
    values[name] = typeof value === 'boolean' ? Number(value) : value;
  }
  return values as PlainPage;
}

/**
 * The values that the file stores, in the order of {@link PAGE_COLUMNS}. An array, because it takes
 * longer to bind parameters by name.
 *
 * @param word - returns the number of an interned string, or the text itself
 */
export function storedPage(page: PageRow, word: (text: string) => bigint | string): Stored[] {
  return COLUMNS.map((name) => {
    const value = page[name] ?? null;
    if (typeof value === 'boolean') return Number(value);
    if (typeof value !== 'string') return value;
    if (name === 'digest') return storedDigest(value);
    return WORDS.has(name) ? word(value) : value;
  });
}

/** Digests that {@link DIGEST_OF} restores exactly. */
const SHA256 = /^sha256:[0-9a-f]{64}$/;

function storedDigest(digest: string): string | Uint8Array {
  return SHA256.test(digest) ? Buffer.from(digest.slice('sha256:'.length), 'hex') : digest;
}

/** The record in the form of messages. */
export function pageOf(plain: PlainPage): PageRow {
  const page: Record<string, unknown> = {};
  for (const name of COLUMNS) {
    const value = plain[name];
    if (value === null && !(name in ALWAYS)) continue;
    page[name] = FLAGS.has(name) ? value === 1 : value;
  }
  return page as unknown as PageRow;
}

/** The stored form of a URL in a row: a key if it is on the row's host, else the full URL. */
export function shortUrl(url: string, host: Host): string {
  const after = url.startsWith('https') ? 8 : 7;
  const same = url.startsWith(host, after) && '/:.'.includes(url[after + host.length]!);
  return same ? urlKey(url, host) : url;
}

/** The inverse of {@link shortUrl}. The second character of a key is never `t`. */
export function longUrl(stored: string, host: Host): string {
  return stored[1] === 't' ? stored : identityOf(host, stored);
}
