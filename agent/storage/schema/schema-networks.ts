// The views since several networks share a crawl (docs/NETWORKS.md). A step of `migrations.ts`.

import { ASKING } from '../encoding/network-places.ts';
import { hostOfId, idsOfHost, referrerOf } from '../encoding/url-ids.ts';
import { URL_OF, WHOLE_URL } from './schema-slots.ts';

const IS_UNDECIDED = `u.not_before >= ${ASKING}`;

export const FRONTIER_COLUMNS = `${URL_OF('u.key')} AS url, h.host AS host, u.depth, u.attempts,
  CAST(CASE WHEN ${IS_UNDECIDED} THEN NULL ELSE max(u.not_before, h.not_before) END AS INTEGER)
    AS not_before, ${referrerOf('u', WHOLE_URL)} AS referrer, u.round AS round,
  CASE WHEN NOT ${IS_UNDECIDED} THEN 'queued' WHEN u.reason IS NULL THEN 'asking'
    ELSE 'elsewhere' END AS state,
  CASE WHEN ${IS_UNDECIDED} THEN u.reason END AS network`;

/** Without the network of a URL that is crawled elsewhere. */
export const SKIP_REASON = "iif(u.reason LIKE 'elsewhere %', 'elsewhere', u.reason)";
export const SKIPPED_COLUMNS = `${URL_OF('u.key')} AS url, h.host AS host,
  ${SKIP_REASON} AS reason,
  ${referrerOf('u', WHOLE_URL)} AS referrer, u.round AS round,
  iif(u.reason LIKE 'elsewhere %', substr(u.reason, 11), NULL) AS network`;

export const NETWORKS = `
CREATE INDEX undecided ON urls (not_before, id) WHERE state = 0 AND not_before >= ${ASKING};
CREATE TABLE unreported (id INTEGER PRIMARY KEY);

DROP VIEW frontier;
CREATE VIEW frontier AS
SELECT ${FRONTIER_COLUMNS}
FROM host_rows h CROSS JOIN urls u ON ${hostOfId('u.id')} = h.number + 0
WHERE u.state = 0 AND h.owned;

DROP VIEW skipped;
CREATE VIEW skipped AS
SELECT ${SKIPPED_COLUMNS}
FROM host_rows h CROSS JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
WHERE +u.state = 3 AND h.owned;
`;
