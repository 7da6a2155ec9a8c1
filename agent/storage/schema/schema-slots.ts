// The large tables since schema 8, made for many URLs. A URL's row is named by an integer of seven
// bytes (url-ids.ts), so the queue, page records and referrers do not repeat its key, and no index
// is needed to find it. Digests take 32 bytes instead of 71 characters; content types, errors and
// archive files are numbers of interned strings (`words`). The schema consists of two steps of
// `migrations.ts`; `move-rows.ts` moves the rows of the older tables between them.

import { DIGEST_OF } from '../encoding/page-columns.ts';
import { hostOfId, idsOfHost, referrerOf } from '../encoding/url-ids.ts';
import { wordOf } from '../encoding/words.ts';

export const URL_OF = (key: string): string =>
  `(CASE substr(${key}, 1, 1) WHEN 's' THEN 'https://' ELSE 'http://' END || h.host || substr(${key}, 2))`;

/** SQL: expands a stored URL, which is a key (its second character is not `t`) or a full URL. */
export const WHOLE_URL = (
  stored: string,
): string => `(CASE WHEN substr(${stored}, 2, 1) = 't' THEN ${stored}
  WHEN ${stored} IS NULL THEN NULL ELSE ${URL_OF(stored)} END)`;

const REFERRER = referrerOf('u', WHOLE_URL);

/**
 * Columns of `page_records` and `former_pages`. A column without a type keeps numbers and texts
 * apart, even a text that looks like a number.
 */
const PAGE = `(
  id INTEGER PRIMARY KEY,
  status INTEGER,
  error,
  content_type,
  bytes INTEGER NOT NULL,
  digest,
  fetched_at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  redirect_to TEXT,
  warc_file,
  warc_offset INTEGER,
  canonical TEXT,
  noindex INTEGER,
  noarchive INTEGER,
  etag TEXT,
  last_modified TEXT,
  payload TEXT,
  original_url TEXT,
  original_at INTEGER,
  unchanged INTEGER
)`;

/** @param ended - the table with the round and the attempts in which the page ended */
export const pageColumns = (ended: 'u' | 'p'): string => `
  ${URL_OF('u.key')} AS url,
  coalesce(u.fetch_url, ${URL_OF('u.key')}) AS fetch_url, h.host AS host, u.depth AS depth,
  p.status, ${wordOf('p.content_type')} AS content_type, p.bytes, ${DIGEST_OF('p.digest')} AS digest,
  p.fetched_at, p.duration_ms, ${wordOf('p.error')} AS error, p.redirect_to,
  ${REFERRER} AS referrer, ${ended}.attempts AS attempts, ${wordOf('p.warc_file')} AS warc_file,
  p.warc_offset, ${WHOLE_URL('p.canonical')} AS canonical, coalesce(p.noindex, 0) AS noindex,
  coalesce(p.noarchive, 0) AS noarchive, coalesce(p.unchanged, 0) AS unchanged,
  ${ended}.round AS round`;

export const SLOTS_SCHEMA = `
DROP VIEW pages;
DROP VIEW frontier;
DROP VIEW skipped;
DROP INDEX queue;
DROP INDEX unsettled;
ALTER TABLE urls RENAME TO old_urls;
ALTER TABLE page_records RENAME TO old_page_records;
ALTER TABLE former_pages RENAME TO old_former_pages;

CREATE TABLE words (number INTEGER PRIMARY KEY, word TEXT NOT NULL);

CREATE TABLE urls (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  state INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  found INTEGER NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before REAL NOT NULL DEFAULT 0,
  fetch_url TEXT,
  referrer INTEGER,
  reason TEXT,
  round INTEGER NOT NULL DEFAULT 0,
  again INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX queue ON urls (${hostOfId('id')}, not_before, depth, found) WHERE state = 0;
CREATE INDEX unsettled ON urls (found) WHERE state IN (1, 2) AND done = 0;
CREATE TABLE page_records ${PAGE};
CREATE TABLE former_pages ${PAGE};

CREATE VIEW pages AS
SELECT ${pageColumns('u')}
FROM host_rows h CROSS JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
CROSS JOIN page_records p ON p.id = u.id
WHERE u.state IN (1, 2) AND h.owned;

CREATE VIEW frontier AS
SELECT ${URL_OF('u.key')} AS url, h.host AS host, u.depth, u.attempts,
  CAST(max(u.not_before, h.not_before) AS INTEGER) AS not_before, ${REFERRER} AS referrer,
  u.round AS round
FROM host_rows h CROSS JOIN urls u ON ${hostOfId('u.id')} = h.number + 0
WHERE u.state = 0 AND h.owned;

CREATE VIEW skipped AS
SELECT ${URL_OF('u.key')} AS url, h.host AS host, u.reason, ${REFERRER} AS referrer,
  u.round AS round
FROM host_rows h CROSS JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
WHERE +u.state = 3 AND h.owned;
`;

/** Runs after the rows have moved. */
export const SLOTS_CLEAR = `
DROP TABLE old_urls;
DROP TABLE old_page_records;
DROP TABLE old_former_pages;
`;
