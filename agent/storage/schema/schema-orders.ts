// Orders name hosts by patterns, and each agent's file tells which of them it has and since when: the
// view `orders`. A step of `migrations.ts`.

import { orderFor } from '../encoding/host-pattern-sql.ts';

/** The delay in effect: as ordered, else the config's; or what the host asked for, if longer. */
const DELAY = `max(h.delay_ms, coalesce(${orderFor('delay', 'h.host')},
    (SELECT value FROM meta WHERE key = 'delay_ms')))`;

export const ORDERS_BY_PATTERN = `
ALTER TABLE order_rows ADD COLUMN applied_at INTEGER;

CREATE VIEW orders AS
SELECT kind, nullif(host, '') AS host, value, agent AS given_by, applied_at
FROM order_rows WHERE value IS NOT NULL AND kind IN ('pause', 'block', 'delay');

DROP VIEW hosts;
CREATE VIEW hosts AS
SELECT h.host, h.ip, h.pages_done, h.queued AS pages_queued, h.out_of_scope,
  CAST(${DELAY} AS INTEGER) AS delay_ms,
  (SELECT r.kind FROM robots r WHERE r.host = h.number ORDER BY r.fetched_at DESC LIMIT 1) AS robots,
  CAST(h.last_fetch_at AS INTEGER) AS last_fetch_at,
  CAST(CASE WHEN h.queued = 0 THEN NULL ELSE max(h.not_before, coalesce(h.last_fetch_at
    + ${DELAY}, 0)) END AS INTEGER) AS next_fetch_at,
  CASE WHEN h.queued = 0 THEN 'done' WHEN h.last_fetch_at IS NULL THEN 'waiting'
    WHEN h.not_before > h.last_fetch_at THEN 'backing off' WHEN h.stale >= 50 THEN 'trap'
    ELSE 'visiting' END AS state
FROM host_rows h WHERE h.owned;
`;
