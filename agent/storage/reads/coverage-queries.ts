// Queries for the pages that one state file knows, and their number. They serve the check whether a
// launch with fewer agents would leave out pages, and the record of a completed crawl.

import { idsOfHost } from '../encoding/url-ids.ts';

/** One row with 0 or 1: whether the file has any page, fetched or not. */
export const HAS_PAGES = `
  SELECT EXISTS (SELECT 1 FROM host_rows WHERE queued > 0 OR pages_done > 0)
    OR EXISTS (SELECT 1 FROM outbox)`;

/** Columns: host, number, queued, pages, round. */
export const HOSTS_WITH_PAGES = `
  SELECT host, number, queued, pages_done, round FROM host_rows
  WHERE queued > 0 OR pages_done > 0 ORDER BY host`;

/** The same columns for one host, by its name. */
export const HOST_BY_NAME = `
  SELECT host, number, queued, pages_done, round FROM host_rows WHERE host = ?`;

/**
 * Columns: key, round, state (0 queued, 1 response, 2 failed, 3 skipped). Parameter: the host's
 * number.
 */
export const URLS_OF_HOST = `
  SELECT u.key, u.round, u.state
  FROM host_rows h JOIN urls u ON ${idsOfHost('u.id', 'h.number')} WHERE h.number = ?`;

/** One row: pages and queued URLs of all hosts, copies included. */
export const STATE_TOTALS = `
  SELECT coalesce(sum(pages_done), 0), coalesce(sum(queued), 0) FROM host_rows`;

/** The blocks, revoked ones included, and the round. */
export const REOPENING_ORDERS = `
  SELECT kind, host, value, number, agent FROM order_rows
  WHERE kind IN ('block', 'refresh') ORDER BY kind, host`;

/** One row: the name of the crawl. */
export const CRAWL_NAME = "SELECT value FROM meta WHERE key = 'crawl'";
/** At most one row: the agent that wrote the file. */
export const AGENT_NAME = "SELECT value FROM meta WHERE key = 'agent'";
