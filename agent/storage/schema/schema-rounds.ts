// The view `pages` since it shows the last answer of every URL: of a page that is queued again, in a
// round of the crawl that has not ended, the former record, which `former_pages` keeps; and later
// that of a page, too, which was skipped when it was to be asked for again. Steps of `migrations.ts`.

import { DIGEST_OF } from '../encoding/page-columns.ts';
import { idsOfHost } from '../encoding/url-ids.ts';
import { wordOf } from '../encoding/words.ts';
import { REFERRER, URL_OF, WHOLE_URL } from './schema-slots.ts';

/** @param ended - the table that tells in which round, and after how many requests, a page ended */
const columns = (ended: 'u' | 'p'): string => `
  ${URL_OF('u.key')} AS url,
  coalesce(u.fetch_url, ${URL_OF('u.key')}) AS fetch_url, h.host AS host, u.depth AS depth,
  p.status, ${wordOf('p.content_type')} AS content_type, p.bytes, ${DIGEST_OF('p.digest')} AS digest,
  p.fetched_at, p.duration_ms, ${wordOf('p.error')} AS error, p.redirect_to,
  ${REFERRER} AS referrer, ${ended}.attempts AS attempts, ${wordOf('p.warc_file')} AS warc_file,
  p.warc_offset, ${WHOLE_URL('p.canonical')} AS canonical, coalesce(p.noindex, 0) AS noindex,
  coalesce(p.noarchive, 0) AS noarchive, coalesce(p.unchanged, 0) AS unchanged,
  ${ended}.round AS round`;

export const LAST_ANSWERS = `
ALTER TABLE former_pages ADD COLUMN round INTEGER;
ALTER TABLE former_pages ADD COLUMN attempts INTEGER;

DROP VIEW pages;
CREATE VIEW pages AS
SELECT ${columns('u')}, 0 AS queued_again
FROM host_rows h CROSS JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
CROSS JOIN page_records p ON p.id = u.id
WHERE u.state IN (1, 2) AND h.owned
UNION ALL
SELECT ${columns('p')}, 1 AS queued_again
FROM host_rows h CROSS JOIN former_pages p ON ${idsOfHost('p.id', 'h.number')}
CROSS JOIN urls u ON u.id = p.id
WHERE u.state = 0 AND h.owned;
`;

/**
 * What has become of the URL since. The same in both halves: SQLite reads the pages of one host by an
 * index only where the types of all columns agree.
 */
const SINCE = 'u.state = 0 AS queued_again, u.reason AS skipped';

export const ANSWERS_OF_SKIPPED = `
DROP VIEW pages;
CREATE VIEW pages AS
SELECT ${columns('u')}, ${SINCE}
FROM host_rows h CROSS JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
CROSS JOIN page_records p ON p.id = u.id
WHERE u.state IN (1, 2) AND h.owned
UNION ALL
SELECT ${columns('p')}, ${SINCE}
FROM host_rows h CROSS JOIN former_pages p ON ${idsOfHost('p.id', 'h.number')}
CROSS JOIN urls u ON u.id = p.id
WHERE u.state IN (0, 3) AND h.owned;
`;
