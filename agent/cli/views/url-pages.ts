// Pages of the URLs of one host, from the file of the agent that holds it. A page begins after the
// last row of the previous one, which the token names, and not at a number of rows: while the crawl
// runs, URLs are added and change their lists all the time.

import {
  type PlacesQuery,
  placesOfHost,
  rowsWithIds,
  type UrlSort,
  type UrlView,
} from '../../storage/reads/url-lists.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { openStateFile, type StateFile } from '../common/query-files.ts';
import { viewColumns } from '../state-files/query-views.ts';
import type { OpenState } from './kept-copies.ts';
import { type Place, placeIn, tokenOf } from './list-token.ts';
import { heldHost, namedRow, type Row, type RowsPage, withFiles } from './query-pages.ts';

/** What a token can hold; longer than the URLs that agents send each other. */
const PLACE_BYTES_MAX = 8192;
/** Behind all URLs that begin as the place: UTF-8 has no such byte. */
const BEHIND = '\xff';

export interface UrlsQuery {
  readonly host: string;
  readonly limit: number;
  readonly sort?: UrlSort | undefined;
  /** Part of the URL. */
  readonly search?: string | undefined;
  /** Of skipped URLs. */
  readonly reason?: string | undefined;
  readonly after?: string | undefined;
}

/** @param living - the agents that answer; see `heldHost` */
export function urlsPage(
  config: ResolvedConfig,
  view: UrlView,
  query: UrlsQuery,
  living: readonly string[],
  open: OpenState = openStateFile,
): RowsPage {
  const { host, sort = 'url', after } = query;
  const list = `${view} of ${host} by ${sort}`;
  const place = after === undefined ? null : placeIn(list, after);
  return withFiles({ config, open }, (files) => {
    const held = heldHost(files, files.files, host, living);
    const file = files.files.find(({ agent }) => agent === held?.agent);
    if (!file) return { rows: [], next: null };
    const [page] = files.of(file, () => {
      const { rows, last } = pageIn(file, view, { ...query, sort }, place);
      return [{ rows, next: last && tokenOf(list, last) }];
    });
    return { rows: [], next: null, ...page, holder: file.agent };
  });
}

/** @returns `last`: the place of the last row if there are more */
function pageIn(
  file: StateFile,
  view: UrlView,
  query: UrlsQuery & Pick<PlacesQuery, 'sort'>,
  after: Place | null,
): { rows: Row[]; last: Place | null } {
  const { host, limit, search, reason } = query;
  const [sorted, place] = after ?? [0, ''];
  const found = [
    ...file.rows(placesOfHost(view, { ...query, isContinued: after !== null }), {
      ...{ host, search, reason, sorted, limit: limit + 1 },
      place: Buffer.from(place, 'latin1'),
    }),
  ] as [bigint, Buffer, number | bigint][];
  const shown = found.slice(0, limit);
  const ids = shown.map(([id]) => id);
  const columns = viewColumns[view];
  const read = [...file.rows(rowsWithIds(view, columns), { ids: `[${ids.join()}]` })];
  const byId = new Map(read.map(([id, ...row]) => [id, row]));
  const rows = ids.flatMap((id) => {
    const row = byId.get(id);
    return row ? [namedRow(file, columns, row)] : [];
  });
  const last = found.length > limit ? shown.at(-1) : undefined;
  return { rows, last: last ? [Number(last[2]), nameOf(last[1])] : null };
}

/** A character a byte. */
function nameOf(place: Buffer): string {
  if (place.length <= PLACE_BYTES_MAX) return place.toString('latin1');
  return place.toString('latin1', 0, PLACE_BYTES_MAX) + BEHIND;
}
