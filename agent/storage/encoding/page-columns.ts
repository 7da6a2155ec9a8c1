// The record of a finished page as columns of the file: the names on both sides, and the values that
// are stored in a shorter form than they travel in. What few pages have is absent from the row that
// travels and NULL in the file. Used by page-table.ts, and by move-rows.ts for files of older
// schemas.

import type { Host, PageRow } from '../../core/protocol/messages.ts';
import { identityOf, keyOf } from '../../url/url-key.ts';
import { wordOf } from './words.ts';

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

/** Texts that many pages have in common. */
const WORDS: ReadonlySet<keyof PageRow> = new Set(['contentType', 'error', 'warcFile']);

/** A row of the columns, by the names of {@link PageRow}, as texts and numbers. */
export type PlainPage = { readonly [K in keyof PageRow]-?: string | number | null };
type Stored = string | number | bigint | null | Uint8Array;
/** The same as it is stored. */
export type StoredPage = { readonly [K in keyof PageRow]-?: Stored };

/** For the list of an INSERT. */
export const PAGE_COLUMNS = Object.values(NAMES).join(', ');
/** Its VALUES, as named parameters: of {@link storedPage}. */
export const PAGE_VALUES = Object.keys(NAMES)
  .map((name) => `$${name}`)
  .join(', ');

/** SQL: a digest as text, whichever way it is stored. */
export const DIGEST_OF = (column: string): string =>
  `CASE typeof(${column}) WHEN 'blob' THEN 'sha256:' || lower(hex(${column})) ELSE ${column} END`;

/** For a SELECT that gives {@link PlainPage}. */
export const PAGE_SELECT = Object.entries(NAMES)
  .map(([name, column]) => `${plainly(name as keyof PageRow, column)} AS ${name}`)
  .join(', ');
/** The same for tables of schema 7, which had everything as text. */
export const OLD_PAGE_SELECT = Object.entries(NAMES)
  .map(([name, column]) => `${column} AS ${name}`)
  .join(', ');

function plainly(name: keyof PageRow, column: string): string {
  if (name === 'digest') return DIGEST_OF(column);
  return WORDS.has(name) ? wordOf(column) : column;
}

/** Only what belongs to the columns; what is absent as null. */
export function plainPage(page: PageRow): PlainPage {
  const values: Record<string, string | number | null> = {};
  for (const name of Object.keys(NAMES) as (keyof PageRow)[]) {
    const value = page[name] ?? null;
    values[name] = typeof value === 'boolean' ? Number(value) : value;
  }
  return values as PlainPage;
}

/** @param word - the number of a text that many pages have in common, or the text */
export function storedPage(page: PageRow, word: (text: string) => bigint | string): StoredPage {
  const values: Record<string, Stored> = plainPage(page);
  for (const name of WORDS) {
    const text = values[name];
    if (typeof text === 'string') values[name] = word(text);
  }
  if (page.digest !== null) values.digest = storedDigest(page.digest);
  return values as StoredPage;
}

/** Exactly the texts that {@link DIGEST_OF} gives back. */
const SHA256 = /^sha256:[0-9a-f]{64}$/;

function storedDigest(digest: string): string | Uint8Array {
  return SHA256.test(digest) ? Buffer.from(digest.slice('sha256:'.length), 'hex') : digest;
}

/** The row as it travels. */
export function pageOf(plain: PlainPage): PageRow {
  const page: Record<string, unknown> = {};
  for (const name of Object.keys(NAMES) as (keyof PageRow)[]) {
    const value = plain[name];
    if (value === null && !(name in ALWAYS)) continue;
    page[name] = FLAGS.has(name) ? value === 1 : value;
  }
  return page as unknown as PageRow;
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
