// The view `pages` since it shows the last response of every URL. It shows the previous record of a
// page that is requeued in an unfinished round (from `former_pages`), and, since the later step,
// of a page that was requeued and then skipped. Both are steps of `migrations.ts`.

import { idsOfHost } from '../encoding/url-ids.ts';
import { pageColumns } from './schema-slots.ts';

export const LAST_ANSWERS = `
ALTER TABLE former_pages ADD COLUMN round INTEGER;
ALTER TABLE former_pages ADD COLUMN attempts INTEGER;

DROP VIEW pages;
CREATE VIEW pages AS
SELECT ${pageColumns('u')}, 0 AS queued_again
FROM host_rows h CROSS JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
CROSS JOIN page_records p ON p.id = u.id
WHERE u.state IN (1, 2) AND h.owned
UNION ALL
SELECT ${pageColumns('p')}, 1 AS queued_again
FROM host_rows h CROSS JOIN former_pages p ON ${idsOfHost('p.id', 'h.number')}
CROSS JOIN urls u ON u.id = p.id
WHERE u.state = 0 AND h.owned;
`;

/**
 * The present state of the URL. Both halves use the same expressions: SQLite pushes a condition on
 * the host into them only if the types of all columns agree.
 */
const SINCE = 'u.state = 0 AS queued_again, u.reason AS skipped';

/** @param ended - see `pageColumns` */
export const lastAnswer = (ended: 'u' | 'p'): string => `${pageColumns(ended)}, ${SINCE}`;

export const ANSWERS_OF_SKIPPED = `
DROP VIEW pages;
CREATE VIEW pages AS
SELECT ${lastAnswer('u')}
FROM host_rows h CROSS JOIN urls u ON ${idsOfHost('u.id', 'h.number')}
CROSS JOIN page_records p ON p.id = u.id
WHERE u.state IN (1, 2) AND h.owned
UNION ALL
SELECT ${lastAnswer('p')}
FROM host_rows h CROSS JOIN former_pages p ON ${idsOfHost('p.id', 'h.number')}
CROSS JOIN urls u ON u.id = p.id
WHERE u.state IN (0, 3) AND h.owned;
`;
