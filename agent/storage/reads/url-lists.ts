// SQL for the lists of the URLs of one host: first the places of the next rows, then these rows,
// because SQLite computes all columns of all rows before it sorts them. The place of a row consists
// of what never changes in any file, so a list continues exactly although rows change and the host
// moves. Each statement reads the URLs of the host once: an index by URL would double the file.

import { hostOfId, idsOfHost } from '../encoding/url-ids.ts';
import { FRONTIER_COLUMNS, SKIP_REASON, SKIPPED_COLUMNS } from '../schema/schema-networks.ts';
import { lastAnswer } from '../schema/schema-rounds.ts';
import { URL_OF } from '../schema/schema-slots.ts';
import { numberKey } from './monitor-queries.ts';

export type UrlView = 'pages' | 'frontier' | 'skipped';
/** By URL in ascending order, or by the time of the last response, the latest first. */
export const PAGE_SORTS = ['url', 'fetched_at'] as const;
export type UrlSort = (typeof PAGE_SORTS)[number];

interface Half {
  /** The table with the records of pages. */
  readonly records?: 'page_records' | 'former_pages';
  /** Whether a URL `u` is in the view. The sign `+` prevents a scan of the queue. */
  readonly where: string;
  readonly columns: string;
}

/** The views as in the schema; `pages` consists of two halves. */
const HALVES: Readonly<Record<UrlView, readonly Half[]>> = {
  pages: [
    { records: 'page_records', where: 'u.state IN (1, 2)', columns: lastAnswer('u') },
    { records: 'former_pages', where: 'u.state IN (0, 3)', columns: lastAnswer('p') },
  ],
  frontier: [{ where: '+u.state = 0', columns: FRONTIER_COLUMNS }],
  skipped: [{ where: '+u.state = 3', columns: SKIPPED_COLUMNS }],
};

export interface PlacesQuery {
  readonly sort: UrlSort;
  /** Part of the URL. */
  readonly search?: string | undefined;
  /** Of skipped URLs. */
  readonly reason?: string | undefined;
  readonly isContinued: boolean;
}

/**
 * The id, `place` and sorted number of the next rows. Parameters: `host`, `limit`, those of `search`
 * and `reason`, and of the last row, if the list is continued, `place` and `sorted`.
 */
export function placesOfHost(view: UrlView, query: PlacesQuery): string {
  const { sort, search, reason, isContinued } = query;
  const isByUrl = sort === 'url';
  const filters = [
    ...(search === undefined ? [] : [`instr(${URL_OF('u.key')}, $search) > 0`]),
    ...(reason === undefined ? [] : [`${SKIP_REASON} = $reason`]),
  ];
  if (isContinued && isByUrl) filters.push('place > $place');
  if (isContinued && !isByUrl) {
    filters.push('(sorted < $sorted OR (sorted = $sorted AND place > $place))');
  }
  const halves = HALVES[view].map(({ records, where }) => {
    // Nearly all URLs with these states have a record, which need not be read.
    const isRecord = records === 'former_pages' || (records !== undefined && !isByUrl);
    const from = isRecord
      ? `${records} p ON ${idsOfHost('p.id', 'h.number')} CROSS JOIN urls u ON u.id = p.id`
      : `urls u ON ${idsOfHost('u.id', 'h.number')}`;
    return `SELECT u.id AS id, CAST(u.key AS BLOB) AS place,
        ${isByUrl ? '0' : numberKey('p.fetched_at')} AS sorted
      FROM host_rows h CROSS JOIN ${from}
      WHERE ${['h.host = $host', 'h.owned', where, ...filters].join(' AND ')}`;
  });
  return `SELECT id, place, sorted FROM (${halves.join(' UNION ALL ')})
    ORDER BY ${isByUrl ? '' : 'sorted DESC, '}place LIMIT $limit`;
}

/** The id of a row, and its columns. Parameter: ids as JSON. */
export function rowsWithIds(view: UrlView, columns: readonly string[]): string {
  const halves = HALVES[view].map(({ records, where, columns: all }) => {
    const joined = records === undefined ? '' : `CROSS JOIN ${records} p ON p.id = u.id`;
    return `SELECT u.id AS id, ${all} FROM json_each($ids) one CROSS JOIN urls u ON u.id = one.value
      CROSS JOIN host_rows h ON h.number = ${hostOfId('u.id')} ${joined} WHERE ${where}`;
  });
  return `SELECT id, ${columns.join(', ')} FROM (${halves.join(' UNION ALL ')})`;
}
