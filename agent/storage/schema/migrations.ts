// The schema of `state.sqlite`, as numbered steps. Each step is applied once, in order and in its
// own transaction; `PRAGMA user_version` holds the number of the last applied step. Rows are
// clustered by host, so a visit touches few pages of the file however large it is. The queue of a
// host is a partial index over its queued URLs: first the URLs that may be fetched now (not_before
// = 0), breadth first, then the waiting URLs by the end of their waits. So neither group is scanned
// to find the other. schema-slots.ts defines the large tables since schema 8.
//
// urls.state: 0 queued, 1 response, 2 failed, 3 skipped. `found` and `done` come from one counter
// of the database and never change; done = 0 means not settled. `key` is the identity without its
// host (agent/url/url-key.ts).

import { orderedDelayFor, ownDelayFor } from '../encoding/host-pattern-sql.ts';
import { ASKING } from '../encoding/network-places.ts';
import { hostOfId } from '../encoding/url-ids.ts';
import { SHUT_URLS } from '../rows/shut-urls.ts';
import { NETWORKS } from './schema-networks.ts';
import { ANSWERS_OF_SKIPPED, LAST_ANSWERS } from './schema-rounds.ts';
import { SLOTS_CLEAR, SLOTS_SCHEMA, URL_OF, WHOLE_URL } from './schema-slots.ts';

const REFERRER = WHOLE_URL('u.referrer');

/** @param added - columns of later schemas */
const pagesView = (added = ''): string => `
CREATE VIEW pages AS
SELECT ${URL_OF('u.key')} AS url,
  coalesce(u.fetch_url, ${URL_OF('u.key')}) AS fetch_url, h.host AS host, u.depth AS depth,
  p.status, p.content_type, p.bytes, p.digest, p.fetched_at, p.duration_ms, p.error,
  p.redirect_to, ${REFERRER} AS referrer, u.attempts AS attempts, p.warc_file, p.warc_offset${added}
FROM host_rows h JOIN urls u ON u.host = h.number
JOIN page_records p ON p.host = u.host AND p.found = u.found
WHERE u.state IN (1, 2) AND h.owned;
`;

const frontierView = (added = ''): string => `
CREATE VIEW frontier AS
SELECT ${URL_OF('u.key')} AS url, h.host AS host, u.depth, u.attempts,
  CAST(max(u.not_before, h.not_before) AS INTEGER) AS not_before, ${REFERRER} AS referrer${added}
FROM urls u JOIN host_rows h ON h.number = u.host WHERE u.state = 0 AND h.owned;
`;

const skippedView = (added = ''): string => `
CREATE VIEW skipped AS
SELECT ${URL_OF('u.key')} AS url, h.host AS host, u.reason, ${REFERRER} AS referrer${added}
FROM urls u JOIN host_rows h ON h.number = u.host WHERE u.state = 3 AND h.owned;
`;

/**
 * @param delay - SQL: the delay in effect for the host `h`, in milliseconds
 * @param trap - SQL: a branch of the CASE for the state; empty in early schemas
 * @param until - SQL: the end of the wait after failures
 */
const hostsView = (delay: string, trap: string, until = 'h.not_before'): string => `
CREATE VIEW hosts AS
SELECT h.host, h.ip, h.pages_done, h.queued AS pages_queued, h.out_of_scope,
  CAST(${delay} AS INTEGER) AS delay_ms,
  (SELECT r.kind FROM robots r WHERE r.host = h.number ORDER BY r.fetched_at DESC LIMIT 1) AS robots,
  CAST(h.last_fetch_at AS INTEGER) AS last_fetch_at,
  CAST(CASE WHEN h.queued = 0 THEN NULL ELSE max(${until}, coalesce(h.last_fetch_at
    + ${delay}, 0)) END AS INTEGER) AS next_fetch_at,
  CASE WHEN h.queued = 0 THEN 'done'
    WHEN ${until} > coalesce(h.last_fetch_at, 0) THEN 'backing off'
    WHEN h.last_fetch_at IS NULL AND h.pages_done = 0 THEN 'waiting'${trap}
    ELSE 'visiting' END AS state
FROM host_rows h WHERE h.owned;
`;

const TRAP = " WHEN h.stale >= 50 THEN 'trap'";

const CONFIG_DELAY = "(SELECT value FROM meta WHERE key = 'delay_ms')";

/** The delay of the operator's directive for exactly this host, else that of the config. */
const DELAY_OF_HOST = `coalesce(
    (SELECT o.value FROM order_rows o WHERE o.kind = 'delay' AND o.host = h.host),
    ${CONFIG_DELAY})`;

/** The same where directives name hosts by patterns; or the host's own demand, if longer. */
const DELAY_BY_PATTERN = `max(h.delay_ms, coalesce(${orderedDelayFor('h.host')},
    ${CONFIG_DELAY}))`;

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
${pagesView()}${frontierView()}${skippedView()}
CREATE VIEW links AS SELECT source, target FROM link_rows;

CREATE VIEW events AS SELECT CAST(at AS INTEGER) AS at, kind, detail FROM event_rows;
${hostsView(CONFIG_DELAY, '')}`;

/** The operator's directives; a null `value` withdraws one. The view `hosts` shows their delays. */
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
${hostsView(DELAY_OF_HOST, '')}`;

/** What a host demands: a longer delay and a block; `stale` is its score of duplicate pages. */
const DEMANDS = `
ALTER TABLE host_rows ADD COLUMN busy_until REAL NOT NULL DEFAULT 0;
ALTER TABLE host_rows ADD COLUMN delay_ms REAL NOT NULL DEFAULT 0;
ALTER TABLE host_rows ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;

DROP VIEW hosts;
${hostsView(`max(h.delay_ms, ${DELAY_OF_HOST})`, TRAP)}`;

const DECLARED = `,
  ${WHOLE_URL('p.canonical')} AS canonical, coalesce(p.noindex, 0) AS noindex,
  coalesce(p.noarchive, 0) AS noarchive`;

/** What a page declares about itself. `canonical` is stored in the same form as a referrer. */
const PAGE_DECLARATIONS = `
ALTER TABLE page_records ADD COLUMN canonical TEXT;
ALTER TABLE page_records ADD COLUMN noindex INTEGER;
ALTER TABLE page_records ADD COLUMN noarchive INTEGER;

DROP VIEW pages;
${pagesView(DECLARED)}`;

/** The links of a page as one JSON array; a row for each link would repeat the source. */
const LINKS_OF_PAGES = `
DROP VIEW links;
DROP TABLE link_rows;
CREATE TABLE page_links (source TEXT PRIMARY KEY, targets TEXT NOT NULL);
CREATE VIEW links AS
SELECT p.source AS source, t.value AS target
FROM page_links p, json_each(p.targets) t;
`;

/** `number`: the event number under which copies receive a robots.txt record; 0: never. */
const ROBOTS_NUMBERS = `
ALTER TABLE robots ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
`;

/**
 * Rounds of a crawl. `again` comes from the counter of `found` and `done`; 0: the URL was queued
 * only once. `former_pages` keeps the previous record of a requeued page until the page ends.
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
${pagesView(`${DECLARED}, coalesce(p.unchanged, 0) AS unchanged, u.round AS round`)}
DROP VIEW frontier;
${frontierView(',\n  u.round AS round')}
DROP VIEW skipped;
${skippedView(',\n  u.round AS round')}`;

/** The redirects that a robots.txt look-up has followed, and the Crawl-delay of the last rules. */
const ROBOTS_PROGRESS = `
ALTER TABLE robots ADD COLUMN location TEXT;
ALTER TABLE robots ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
ALTER TABLE robots ADD COLUMN crawl_delay_ms REAL NOT NULL DEFAULT 0;
`;

/**
 * Consecutive failures and the time of the first one. A retry limit needs both the number of
 * attempts and the time.
 */
const FAILURES_SINCE = `
ALTER TABLE host_rows ADD COLUMN blocks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE host_rows ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE urls ADD COLUMN failed_since REAL;
ALTER TABLE robots ADD COLUMN failed_since REAL;
`;

/** Redirects to other forms of the same identity that led to the form of a queued URL. */
const FORM_HOPS = `
ALTER TABLE urls ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
`;

/** Numbers of deleted hosts that still have rows (deleted-hosts.ts). */
const DELETED_HOSTS = `
CREATE TABLE deleted_hosts (number INTEGER PRIMARY KEY);
DROP INDEX outbox_by_host;
`;

/**
 * Whether a URL was declared a sitemap. Older schemas recognize a sitemap by its referrer, a
 * robots.txt file; this step marks the queued ones.
 */
const DECLARED_SITEMAPS = `
ALTER TABLE urls ADD COLUMN sitemap INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN sitemap INTEGER NOT NULL DEFAULT 0;
UPDATE urls SET sitemap = 1
  WHERE state = 0 AND referrer LIKE '%/robots.txt' AND key NOT LIKE '%/robots.txt';
UPDATE outbox SET sitemap = 1
  WHERE referrer LIKE '%/robots.txt' AND url NOT LIKE '%/robots.txt';
`;

/** Each greeting of a member looks up marks above its numbers; usually there are none. */
const MARKS_BY_NUMBER = `
DROP INDEX marks_by_sender;
CREATE INDEX marks_by_sender ON marks (sender, mark);
`;

/** One row for each tombstone, in place of one JSON text. */
const GONE_AGENTS = `
CREATE TABLE gone_agents (id TEXT PRIMARY KEY, inc INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO gone_agents (id, inc)
  SELECT key, value FROM json_each((SELECT value FROM meta WHERE key = 'gone'));
DELETE FROM meta WHERE key = 'gone';
`;

/** Directives name hosts by patterns; the view `orders` shows when the agent applied each. */
const ORDERS_BY_PATTERN = `
ALTER TABLE order_rows ADD COLUMN applied_at INTEGER;

CREATE VIEW orders AS
SELECT kind, nullif(host, '') AS host, value, agent AS given_by, applied_at
FROM order_rows WHERE value IS NOT NULL AND kind IN ('pause', 'block', 'delay');

DROP VIEW hosts;
${hostsView(DELAY_BY_PATTERN, TRAP)}`;

/** Counters of the agent over time (tables/sample-table.ts). */
const SAMPLES = `
CREATE TABLE sample_rows (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  pages INTEGER NOT NULL,
  queued INTEGER NOT NULL,
  hosts INTEGER NOT NULL,
  outbox INTEGER NOT NULL,
  pages_per_second REAL NOT NULL,
  loop_delay_ms REAL NOT NULL,
  rss_bytes INTEGER NOT NULL
);
CREATE VIEW samples AS
SELECT CAST(at AS INTEGER) AS at, pages, queued, hosts, outbox, pages_per_second, loop_delay_ms,
  rss_bytes FROM sample_rows;
`;

/** Directives may name agents. */
const ORDERS_OF_AGENTS = `
DROP VIEW orders;
CREATE VIEW orders AS
SELECT kind, nullif(host, '') AS host, value, agent AS given_by, applied_at
FROM order_rows WHERE value IS NOT NULL AND kind <> 'refresh';
`;

/** Also for SQLite before 3.41. */
const HOSTS_EVERYWHERE = `
DROP VIEW hosts;
${hostsView(DELAY_BY_PATTERN, TRAP)}`;

/** When all queued URLs of a host wait for a retry. */
const RETRIES_OF_HOSTS = `
ALTER TABLE host_rows ADD COLUMN retry_at REAL NOT NULL DEFAULT 0;
UPDATE host_rows SET retry_at = coalesce((SELECT min(u.not_before) FROM urls u
  WHERE ${hostOfId('u.id')} = number + 0 AND u.state = 0), 0) WHERE queued > 0;
UPDATE host_rows SET retry_at = 0 WHERE retry_at >= ${ASKING};

DROP VIEW hosts;
${hostsView(DELAY_BY_PATTERN, TRAP, 'max(h.not_before, h.retry_at)')}`;

/**
 * The delays of the config are stored. The column `delay_ms` of a host had the longest delay, and now
 * has what the host demands. Only its owner knows its Crawl-delay, so copies keep their value.
 */
const CONFIG_DELAYS = `
CREATE TABLE config_delays (host TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
UPDATE host_rows SET delay_ms = min(delay_ms, coalesce(
  (SELECT max(r.crawl_delay_ms) FROM robots r WHERE r.host = host_rows.number), 0)) WHERE owned;

DROP VIEW hosts;
${hostsView(`max(h.delay_ms, ${ownDelayFor('h.host')})`, TRAP, 'max(h.not_before, h.retry_at)')}`;

export const MIGRATIONS: readonly string[] = [
  FIRST,
  ORDERS,
  DEMANDS,
  PAGE_DECLARATIONS,
  LINKS_OF_PAGES,
  ROBOTS_NUMBERS,
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
  NETWORKS,
  SAMPLES,
  ORDERS_OF_AGENTS,
  HOSTS_EVERYWHERE,
  RETRIES_OF_HOSTS,
  CONFIG_DELAYS,
];

/** After this schema's step, and before the next, rows move from the old tables (move-rows.ts). */
export const ROWS_MOVE_AT = MIGRATIONS.indexOf(SLOTS_SCHEMA) + 1;
