// Queries with which an audit reads a state file: the rows of all hosts, copies included, and the
// outbox. Both are ordered by host and key, so that the files of many agents can be walked side by
// side; SQLite sorts the URLs of one host at a time.

import { internedText } from '../encoding/interned-strings.ts';
import { CLAIMED_ELSEWHERE } from '../encoding/network-places.ts';
import { idsOfHost } from '../encoding/url-ids.ts';

/**
 * Columns: host, owned, counters of queued URLs and pages; key, state, settled, reason (if queued,
 * the network that has claimed it); id, status and time of the page record; round; error of the
 * record. A host without URLs gives one row with a null key. The outer loop follows the index of
 * hosts; only the rows of one host are sorted at a time.
 */
export const AUDIT_ROWS = `
  SELECT h.host, h.owned, h.queued, h.pages_done, u.key, u.state, u.done > 0,
    CASE WHEN u.state > 0 OR u.not_before = ${CLAIMED_ELSEWHERE} THEN u.reason END,
    p.id, p.status, p.fetched_at, u.round, ${internedText('p.error')}
  FROM host_rows h LEFT JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
  LEFT JOIN page_records p ON p.id = u.id ORDER BY h.host, u.key`;

/** Columns: host, and the key of the URL as in `urls`. */
export const AUDIT_OUTBOX = `
  SELECT host, CASE WHEN url LIKE 'https:%' THEN 's' || substr(url, 9 + length(host))
    ELSE 'h' || substr(url, 8 + length(host)) END AS key
  FROM outbox ORDER BY host, key`;

/** One number: all page records, also those without a URL, but not those of deleted hosts. */
export const AUDIT_RECORDS = `
  SELECT (SELECT count(*) FROM page_records) - (SELECT count(*) FROM deleted_hosts d
    JOIN page_records p ON ${idsOfHost('p.id', 'd.number')})`;
