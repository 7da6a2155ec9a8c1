// What an audit reads of a state file: the rows of all hosts, copies included, and the outbox, each
// in order of host and key, so that the files of many agents can be walked side by side; the URLs of
// one host are sorted for it. Run over
// read-only connections by `agent/cli/audit/audit-walk.ts`, not through the store, which owns its file.

import { idsOfHost } from '../encoding/url-ids.ts';
import { wordOf } from '../encoding/words.ts';

/**
 * Columns: host, owned, counters of queued and pages; key, state, settled, reason; id, status
 * and time of the page record; round; error of the record. A host without URLs gives one row with a null key. The outer loop
 * follows the index of hosts; of the inner one the rows of a host are sorted, and no more.
 */
export const AUDIT_ROWS = `
  SELECT h.host, h.owned, h.queued, h.pages_done, u.key, u.state, u.done > 0, u.reason,
    p.id, p.status, p.fetched_at, u.round, ${wordOf('p.error')}
  FROM host_rows h LEFT JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
  LEFT JOIN page_records p ON p.id = u.id ORDER BY h.host, u.key`;

/** Columns: host, and the key that the URL has, or would have, in `urls`. */
export const AUDIT_OUTBOX = `
  SELECT host, CASE WHEN url LIKE 'https:%' THEN 's' || substr(url, 9 + length(host))
    ELSE 'h' || substr(url, 8 + length(host)) END AS key
  FROM outbox ORDER BY host, key`;

/** One number: all page records, those without a URL, too, and not those of deleted hosts. */
export const AUDIT_RECORDS = `
  SELECT (SELECT count(*) FROM page_records) - (SELECT count(*) FROM deleted_hosts d
    JOIN page_records p ON ${idsOfHost('p.id', 'd.number')})`;
