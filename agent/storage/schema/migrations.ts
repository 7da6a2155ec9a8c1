// The shape of `state.sqlite`, as numbered steps that are applied once each, in order, in one
// transaction (`PRAGMA user_version` holds the number of the last). Rows are clustered by host, so
// that a visit touches few pages of the file however large it grows. The queue of a host is a
// partial index over its queued URLs: those that may be asked for now (not_before = 0) breadth
// first, then those that wait, by the end of their waits, so that neither is ever walked through to
// find the other. The large tables have their shape since schema 8 from schema-slots.ts.
//
// urls.state: 0 queued, 1 response, 2 failed, 3 skipped. `found` and `done` come from one counter
// of the database and never change; done = 0: not settled. `key` is the
// identity without its host (agent/url/url-key.ts).

import { SHUT_URLS } from '../rows/shut-urls.ts';
import { ORDERS_BY_PATTERN } from './schema-orders.ts';
import { ANSWERS_OF_SKIPPED, LAST_ANSWERS } from './schema-rounds.ts';
import { SLOTS_CLEAR, SLOTS_SCHEMA } from './schema-slots.ts';

const URL_OF = (key: string): string =>
  `(CASE substr(${key}, 1, 1) WHEN 's' THEN 'https://' ELSE 'http://' END || h.host || substr(${key}, 2))`;

/** A stored URL is a key (second character is no `t`) or a whole `http…` URL. */
const WHOLE_URL = (
  stored: string,
): string => `(CASE WHEN substr(${stored}, 2, 1) = 't' THEN ${stored}
  WHEN ${stored} IS NULL THEN NULL ELSE ${URL_OF(stored)} END)`;
const REFERRER = WHOLE_URL('u.referrer');

/** The delay in effect: as ordered for the host, else the config's. */
const DELAY = `coalesce(
    (SELECT o.value FROM order_rows o WHERE o.kind = 'delay' AND o.host = h.host),
    (SELECT value FROM meta WHERE key = 'delay_ms'))`;

const HOSTS_VIEW = `
CREATE VIEW hosts AS
SELECT h.host, h.ip, h.pages_done, h.queued AS pages_queued, h.out_of_scope,
  CAST(${DELAY} AS INTEGER) AS delay_ms,
  (SELECT r.kind FROM robots r WHERE r.host = h.number ORDER BY r.fetched_at DESC LIMIT 1) AS robots,
  CAST(h.last_fetch_at AS INTEGER) AS last_fetch_at,
  CAST(CASE WHEN h.queued = 0 THEN NULL ELSE max(h.not_before, coalesce(h.last_fetch_at
    + ${DELAY}, 0)) END AS INTEGER) AS next_fetch_at,
  CASE WHEN h.queued = 0 THEN 'done' WHEN h.last_fetch_at IS NULL THEN 'waiting'
    WHEN h.not_before > h.last_fetch_at THEN 'backing off' ELSE 'visiting' END AS state
FROM host_rows h WHERE h.owned;`;

/** The delay in effect once a request was made: what the host asked for, if that is longer. */
const DELAY_ASKED = `max(h.delay_ms, ${DELAY})`;

const HOSTS_VIEW_WITH_DEMANDS = `
CREATE VIEW hosts AS
SELECT h.host, h.ip, h.pages_done, h.queued AS pages_queued, h.out_of_scope,
  CAST(${DELAY_ASKED} AS INTEGER) AS delay_ms,
  (SELECT r.kind FROM robots r WHERE r.host = h.number ORDER BY r.fetched_at DESC LIMIT 1) AS robots,
  CAST(h.last_fetch_at AS INTEGER) AS last_fetch_at,
  CAST(CASE WHEN h.queued = 0 THEN NULL ELSE max(h.not_before, coalesce(h.last_fetch_at
    + ${DELAY_ASKED}, 0)) END AS INTEGER) AS next_fetch_at,
  CASE WHEN h.queued = 0 THEN 'done' WHEN h.last_fetch_at IS NULL THEN 'waiting'
    WHEN h.not_before > h.last_fetch_at THEN 'backing off' WHEN h.stale >= 50 THEN 'trap'
    ELSE 'visiting' END AS state
FROM host_rows h WHERE h.owned;`;

const FIRST = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE host_rows (
  number INTEGER PRIMARY KEY,
  host TEXT NOT NULL UNIQUE,
  pages_done INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  out_of_scope INTEGER NOT NULL DEFAULT 0,
  not_before REAL NOT NULL DEFAULT 0,
  last_fetch_at REAL,
  busy INTEGER NOT NULL DEFAULT 0,
  busy_since REAL,
  unconnected INTEGER NOT NULL DEFAULT 0,
  ip TEXT,
  owned INTEGER NOT NULL,
  last INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX hosts_with_queue ON host_rows (number) WHERE queued > 0;

CREATE TABLE urls (
  host INTEGER NOT NULL,
  key TEXT NOT NULL,
  state INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  found INTEGER NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before REAL NOT NULL DEFAULT 0,
  fetch_url TEXT,
  referrer TEXT,
  reason TEXT,
  PRIMARY KEY (host, key)
) WITHOUT ROWID;
CREATE INDEX queue ON urls (host, not_before, depth, found) WHERE state = 0;
CREATE INDEX unsettled ON urls (host, key) WHERE state IN (1, 2) AND done = 0;

CREATE TABLE page_records (
  host INTEGER NOT NULL,
  found INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  content_type TEXT,
  bytes INTEGER NOT NULL,
  digest TEXT,
  fetched_at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  redirect_to TEXT,
  warc_file TEXT,
  warc_offset INTEGER,
  PRIMARY KEY (host, found)
) WITHOUT ROWID;

CREATE TABLE robots (
  host INTEGER NOT NULL,
  origin TEXT NOT NULL,
  kind TEXT NOT NULL,
  fetched_at REAL NOT NULL,
  body BLOB,
  attempts INTEGER NOT NULL,
  retry_at REAL NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (host, origin)
) WITHOUT ROWID;

CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  url TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  owner TEXT NOT NULL,
  depth INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  fetch_url TEXT,
  referrer TEXT
);
CREATE INDEX outbox_by_owner ON outbox (owner, id);
CREATE INDEX outbox_by_host ON outbox (host);

CREATE TABLE marks (
  host INTEGER NOT NULL,
  sender TEXT NOT NULL,
  mark INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (host, sender)
) WITHOUT ROWID;
CREATE INDEX marks_by_sender ON marks (sender, host);

CREATE TABLE link_rows (source TEXT NOT NULL, target TEXT NOT NULL);
CREATE TABLE event_rows (id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL);

CREATE VIEW pages AS
SELECT ${URL_OF('u.key')} AS url,
  coalesce(u.fetch_url, ${URL_OF('u.key')}) AS fetch_url, h.host AS host, u.depth AS depth,
  p.status, p.content_type, p.bytes, p.digest, p.fetched_at, p.duration_ms, p.error,
  p.redirect_to, ${REFERRER} AS referrer, u.attempts AS attempts, p.warc_file, p.warc_offset
FROM host_rows h JOIN urls u ON u.host = h.number
JOIN page_records p ON p.host = u.host AND p.found = u.found
WHERE u.state IN (1, 2) AND h.owned;

CREATE VIEW frontier AS
SELECT ${URL_OF('u.key')} AS url, h.host AS host, u.depth, u.attempts,
  CAST(max(u.not_before, h.not_before) AS INTEGER) AS not_before, ${REFERRER} AS referrer
FROM urls u JOIN host_rows h ON h.number = u.host WHERE u.state = 0 AND h.owned;

CREATE VIEW skipped AS
SELECT ${URL_OF('u.key')} AS url, h.host AS host, u.reason, ${REFERRER} AS referrer
FROM urls u JOIN host_rows h ON h.number = u.host WHERE u.state = 3 AND h.owned;

CREATE VIEW links AS SELECT source, target FROM link_rows;

CREATE VIEW events AS SELECT CAST(at AS INTEGER) AS at, kind, detail FROM event_rows;

CREATE VIEW hosts AS
SELECT h.host, h.ip, h.pages_done, h.queued AS pages_queued, h.out_of_scope,
  (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'delay_ms') AS delay_ms,
  (SELECT r.kind FROM robots r WHERE r.host = h.number ORDER BY r.fetched_at DESC LIMIT 1) AS robots,
  CAST(h.last_fetch_at AS INTEGER) AS last_fetch_at,
  CAST(CASE WHEN h.queued = 0 THEN NULL ELSE max(h.not_before, coalesce(h.last_fetch_at
    + (SELECT value FROM meta WHERE key = 'delay_ms'), 0)) END AS INTEGER) AS next_fetch_at,
  CASE WHEN h.queued = 0 THEN 'done' WHEN h.last_fetch_at IS NULL THEN 'waiting'
    WHEN h.not_before > h.last_fetch_at THEN 'backing off' ELSE 'visiting' END AS state
FROM host_rows h WHERE h.owned;
`;

/** The operator's orders; `value` null: taken back. A delay that was ordered shows in `hosts`. */
const ORDERS = `
CREATE TABLE order_rows (
  kind TEXT NOT NULL,
  host TEXT NOT NULL,
  value INTEGER,
  number INTEGER NOT NULL,
  agent TEXT NOT NULL,
  PRIMARY KEY (kind, host)
) WITHOUT ROWID;

DROP VIEW hosts;
${HOSTS_VIEW}
`;

/** What a host asks for: its delay beyond the config's, its block, and how little of it is new. */
const DEMANDS = `
ALTER TABLE host_rows ADD COLUMN busy_until REAL NOT NULL DEFAULT 0;
ALTER TABLE host_rows ADD COLUMN delay_ms REAL NOT NULL DEFAULT 0;
ALTER TABLE host_rows ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;

DROP VIEW hosts;
${HOSTS_VIEW_WITH_DEMANDS}
`;

/** What a page says of itself. `canonical` is stored as a referrer is. */
const PAGES_SPEAK = `
ALTER TABLE page_records ADD COLUMN canonical TEXT;
ALTER TABLE page_records ADD COLUMN noindex INTEGER;
ALTER TABLE page_records ADD COLUMN noarchive INTEGER;

DROP VIEW pages;
CREATE VIEW pages AS
SELECT ${URL_OF('u.key')} AS url,
  coalesce(u.fetch_url, ${URL_OF('u.key')}) AS fetch_url, h.host AS host, u.depth AS depth,
  p.status, p.content_type, p.bytes, p.digest, p.fetched_at, p.duration_ms, p.error,
  p.redirect_to, ${REFERRER} AS referrer, u.attempts AS attempts, p.warc_file, p.warc_offset,
  ${WHOLE_URL('p.canonical')} AS canonical, coalesce(p.noindex, 0) AS noindex,
  coalesce(p.noarchive, 0) AS noarchive
FROM host_rows h JOIN urls u ON u.host = h.number
JOIN page_records p ON p.host = u.host AND p.found = u.found
WHERE u.state IN (1, 2) AND h.owned;
`;

/** The links of a page as one JSON array: a row a link would repeat the source forty times. */
const LINKS_OF_PAGES = `
DROP VIEW links;
DROP TABLE link_rows;
CREATE TABLE page_links (source TEXT PRIMARY KEY, targets TEXT NOT NULL);
CREATE VIEW links AS
SELECT p.source AS source, t.value AS target
FROM page_links p, json_each(p.targets) t;
`;

/** Under which an answer for robots.txt goes to the copies; 0: it does not. */
const ROBOTS_TRAVEL = `
ALTER TABLE robots ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
`;

/**
 * Rounds of a crawl. `again` comes from the counter of `found` and `done`; 0: it was queued once. The
 * record of a page that is queued again is kept in `former_pages` until it ends.
 */
const ROUNDS = `
ALTER TABLE urls ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE urls ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
ALTER TABLE host_rows ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE page_records ADD COLUMN etag TEXT;
ALTER TABLE page_records ADD COLUMN last_modified TEXT;
ALTER TABLE page_records ADD COLUMN payload TEXT;
ALTER TABLE page_records ADD COLUMN original_url TEXT;
ALTER TABLE page_records ADD COLUMN original_at INTEGER;
ALTER TABLE page_records ADD COLUMN unchanged INTEGER;

CREATE TABLE former_pages (
  host INTEGER NOT NULL,
  found INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  content_type TEXT,
  bytes INTEGER NOT NULL,
  digest TEXT,
  fetched_at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  redirect_to TEXT,
  warc_file TEXT,
  warc_offset INTEGER,
  canonical TEXT,
  noindex INTEGER,
  noarchive INTEGER,
  etag TEXT,
  last_modified TEXT,
  payload TEXT,
  original_url TEXT,
  original_at INTEGER,
  unchanged INTEGER,
  PRIMARY KEY (host, found)
) WITHOUT ROWID;

DROP VIEW pages;
CREATE VIEW pages AS
SELECT ${URL_OF('u.key')} AS url,
  coalesce(u.fetch_url, ${URL_OF('u.key')}) AS fetch_url, h.host AS host, u.depth AS depth,
  p.status, p.content_type, p.bytes, p.digest, p.fetched_at, p.duration_ms, p.error,
  p.redirect_to, ${REFERRER} AS referrer, u.attempts AS attempts, p.warc_file, p.warc_offset,
  ${WHOLE_URL('p.canonical')} AS canonical, coalesce(p.noindex, 0) AS noindex,
  coalesce(p.noarchive, 0) AS noarchive, coalesce(p.unchanged, 0) AS unchanged, u.round AS round
FROM host_rows h JOIN urls u ON u.host = h.number
JOIN page_records p ON p.host = u.host AND p.found = u.found
WHERE u.state IN (1, 2) AND h.owned;

DROP VIEW frontier;
CREATE VIEW frontier AS
SELECT ${URL_OF('u.key')} AS url, h.host AS host, u.depth, u.attempts,
  CAST(max(u.not_before, h.not_before) AS INTEGER) AS not_before, ${REFERRER} AS referrer,
  u.round AS round
FROM urls u JOIN host_rows h ON h.number = u.host WHERE u.state = 0 AND h.owned;

DROP VIEW skipped;
CREATE VIEW skipped AS
SELECT ${URL_OF('u.key')} AS url, h.host AS host, u.reason, ${REFERRER} AS referrer,
  u.round AS round
FROM urls u JOIN host_rows h ON h.number = u.host WHERE u.state = 3 AND h.owned;
`;

/** The progress of a look-up (redirects followed), and the Crawl-delay of the last rules read. */
const ROBOTS_PROGRESS = `
ALTER TABLE robots ADD COLUMN location TEXT;
ALTER TABLE robots ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
ALTER TABLE robots ADD COLUMN crawl_delay_ms REAL NOT NULL DEFAULT 0;
`;

/** Failures in a row, and the time of the first of them: neither attempts nor time alone give up. */
const FAILURES_SINCE = `
ALTER TABLE host_rows ADD COLUMN blocks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE host_rows ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE urls ADD COLUMN failed_since REAL;
ALTER TABLE robots ADD COLUMN failed_since REAL;
`;

/** How many redirects to another form of the same identity led to the form of a queued URL. */
const FORM_HOPS = `
ALTER TABLE urls ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
`;

/** Numbers of hosts that were deleted while rows of theirs are left (deleted-hosts.ts). */
const DELETED_HOSTS = `
CREATE TABLE deleted_hosts (number INTEGER PRIMARY KEY);
DROP INDEX outbox_by_host;
`;

/**
 * Whether a URL was named as a sitemap. Before, the referrer told it, of files that a robots.txt
 * names; those that are still queued are found by it here.
 */
const DECLARED_SITEMAPS = `
ALTER TABLE urls ADD COLUMN sitemap INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN sitemap INTEGER NOT NULL DEFAULT 0;
UPDATE urls SET sitemap = 1
  WHERE state = 0 AND referrer LIKE '%/robots.txt' AND key NOT LIKE '%/robots.txt';
UPDATE outbox SET sitemap = 1
  WHERE referrer LIKE '%/robots.txt' AND url NOT LIKE '%/robots.txt';
`;

/** Every greeting of a member asks for marks above its numbers, and as a rule there are none. */
const MARKS_BY_NUMBER = `
DROP INDEX marks_by_sender;
CREATE INDEX marks_by_sender ON marks (sender, mark);
`;

/** A row for each agent that is known gone, in place of one text with all of them. */
const GONE_AGENTS = `
CREATE TABLE gone_agents (id TEXT PRIMARY KEY, inc INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO gone_agents (id, inc)
  SELECT key, value FROM json_each((SELECT value FROM meta WHERE key = 'gone'));
DELETE FROM meta WHERE key = 'gone';
`;

export const MIGRATIONS: readonly string[] = [
  FIRST,
  ORDERS,
  DEMANDS,
  PAGES_SPEAK,
  LINKS_OF_PAGES,
  ROBOTS_TRAVEL,
  ROUNDS,
  SLOTS_SCHEMA,
  SLOTS_CLEAR,
  ROBOTS_PROGRESS,
  FAILURES_SINCE,
  FORM_HOPS,
  DELETED_HOSTS,
  DECLARED_SITEMAPS,
  MARKS_BY_NUMBER,
  LAST_ANSWERS,
  SHUT_URLS,
  ORDERS_BY_PATTERN,
  GONE_AGENTS,
  ANSWERS_OF_SKIPPED,
];

/** The schema between whose step and the next the rows of the older tables are moved. */
export const ROWS_MOVE_AT = MIGRATIONS.indexOf(SLOTS_SCHEMA) + 1;
