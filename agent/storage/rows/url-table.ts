// The known URLs of each host, clustered by host: queued, fetched, failed or skipped, with their
// depth, order and first referrer. Within a round the state of a URL only moves forward.

import type { Verdict } from '../../core/crawl/networks-port.ts';
import type { SkipReason } from '../../core/protocol/core-store.ts';
import type { Host, PageRow, UrlItem } from '../../core/protocol/messages.ts';
import type {
  FormHop,
  PageRecord,
  QueueDrop,
  QueuedUrl,
  QueuePlace,
  Retry,
  WayBack,
} from '../../frontier/frontier-store.ts';
import { asForm, type Identity, type RequestForm } from '../../url/crawl-url.ts';
import { identityOf, splitIdentity, urlKey } from '../../url/url-key.ts';
import type { Connection } from '../encoding/connection.ts';
import { internedText } from '../encoding/interned-strings.ts';
import { ASKING } from '../encoding/network-places.ts';
import { longUrl, shortUrl } from '../encoding/page-columns.ts';
import { hostNumberOf, hostOfId, referrerOf, type UrlIds } from '../encoding/url-ids.ts';
import type { HostRow, HostTable } from '../tables/host-table.ts';
import type { Numbers } from '../tables/numbers.ts';
import type { PageTable } from '../tables/page-table.ts';
import type { NetworkUrls, SettledRow } from './network-urls.ts';
import type { RefreshTable } from './refresh-table.ts';
import type { RowTable } from './row-table.ts';

/** Queued URLs that one turn checks when it ends queued URLs of a host; takes some milliseconds. */
const LOOKED_AT_MAX = 1000;
/** A place in a longer queue is chosen among its first URLs, as many as this. */
const PLACES_MAX = 10_000;
const SKIPPED = 3;
const BEFORE_ALL: QueuePlace = [-1, -1, -1];

interface QueuedRow {
  readonly id: number;
  readonly key: string;
  readonly fetchUrl: string | null;
  readonly depth: number;
  readonly attempts: number;
  readonly failedSince: number | null;
  readonly hops: number;
  readonly referrer: string | null;
  readonly again: number;
  readonly sitemap: number;
}

export class UrlTable {
  readonly #hosts: HostTable;
  readonly #numbers: Numbers;
  readonly #ids: UrlIds;
  readonly #rows: RowTable;
  readonly #pages: PageTable;
  readonly #refresh: RefreshTable;
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection, hosts: HostTable, numbers: Numbers, ids: UrlIds, rows: RowTable) {
    this.#hosts = hosts;
    this.#numbers = numbers;
    this.#ids = ids;
    this.#rows = rows;
    this.#pages = rows.pages;
    this.#refresh = rows.refresh;
    this.#s = statements(db);
  }

  /**
   * A known URL may become a sitemap. If it is queued, its depth may drop to 0, because another
   * host links to it, and its attempts may rise to those of a previous owner. If it was skipped for
   * its depth, it is queued: what is crawled must not depend on which link was found first.
   *
   * @returns whether the URL is new or queued again
   */
  insert(host: Host, item: UrlItem, skip: SkipReason | null): boolean {
    const row = this.#hosts.row(host);
    const key = urlKey(item.url, host);
    const { depth, attempts = 0, fetchUrl = null } = item;
    const place = this.#ids.find(row.number, key);
    if (place >= 0) {
      const opens = skip === null ? 1 : 0;
      const merged =
        depth === 0 || attempts > 0
          ? this.#s.merge.get({ id: place, depth, attempts, opens })
          : undefined;
      const isOpen = merged?.state === SKIPPED;
      if (isOpen) this.#refresh.reopen(row, merged);
      if (item.sitemap) this.#rows.amendments.declare(row, place);
      return isOpen;
    }
    const id = -1 - place;
    const found = this.#numbers.next();
    const done = skip === null ? 0 : this.#numbers.next();
    const referrer = item.referrer === undefined ? null : shortUrl(item.referrer, host);
    const stored = this.#ids.referrer(row.number, referrer);
    const sitemap = item.sitemap ? 1 : 0;
    const { round } = this.#refresh;
    const state = skip === null ? 0 : SKIPPED;
    const values = [attempts, fetchUrl, stored, skip, round, sitemap] as const;
    const notBefore = skip === null ? (this.#rows.networks?.placeOf(row, key) ?? 0) : 0;
    this.#s.insert.run(id, key, state, depth, found, done, ...values, notBefore);
    this.#ids.remember(key, id);
    const shown = { key, depth, round, again: 0, attempts, fetchUrl, referrer, sitemap };
    this.#rows.noteFound(row, id, found, shown);
    if (skip === null) this.#hosts.addQueued(row, 1);
    else this.#rows.note(row, id, done, 'done');
    this.#rows.shut.skipped(skip);
    return true;
  }

  next(hostNumber: number, now: number, at: 'last' | number): QueuedUrl | null {
    this.#s.release.run(hostNumber, now);
    const found = this.#nextRow(hostNumber, at);
    if (!found) return null;
    const row = this.#hosts.numbered(hostNumber);
    const { host } = row;
    this.#hosts.setRetryAt(row, 0);
    const { id, depth, attempts, failedSince, hops, referrer } = found;
    this.#ids.remember(found.key, id);
    const url = identityOf(host, found.key);
    const former = found.again > 0 ? this.#refresh.former(id) : undefined;
    return {
      ...{ url, fetchUrl: found.fetchUrl ?? url, depth, attempts },
      ...(failedSince !== null && { failedSince }),
      ...(hops > 0 && { hops }),
      ...(referrer !== null && { referrer: longUrl(referrer, host) }),
      ...(found.sitemap > 0 && { sitemap: true }),
      ...(former && { previous: whole(former, host) }),
    };
  }

  #nextRow(hostNumber: number, at: 'last' | number): QueuedRow | undefined {
    if (at === 'last') return this.#s.last.get(hostNumber);
    if (at === 0) return this.#s.next.get(hostNumber);
    const { queued } = this.#hosts.numbered(hostNumber);
    const skipped = Math.floor(at * Math.min(queued, PLACES_MAX));
    // Waiting URLs count in `queued` but cannot be fetched, so the place may not exist.
    return this.#s.nth.get(hostNumber, skipped) ?? this.#s.next.get(hostNumber);
  }

  goodForm(hostNumber: number, url: Identity): RequestForm | null {
    const id = this.#idOf(this.#hosts.numbered(hostNumber), url);
    const good = this.#s.good.get(id);
    return good ? (good.fetchUrl ?? asForm(url)) : null;
  }

  nextAt(hostNumber: number): number | 'networks' | null {
    const first = this.#s.nextAt.get(hostNumber) ?? null;
    const at = first !== null && first >= ASKING ? 'networks' : first;
    this.#hosts.setRetryAt(this.#hosts.numbered(hostNumber), typeof at === 'number' ? at : 0);
    return at;
  }

  recordPage(hostNumber: number, page: PageRecord): void {
    const row = this.#hosts.numbered(hostNumber);
    this.#finish(row, this.#idOf(row, page.url), page, page.attempts);
  }

  /** False if the URL is not queued; then nothing has changed. */
  #finish(row: HostRow, id: number, page: PageRow, attempts: number | null): boolean {
    const again = this.#leaveQueue(row, id, page.status === null ? 2 : 1, attempts, null);
    if (again === undefined) return false;
    if (again > 0) this.#refresh.forget(id, page);
    const fetchedAt = Math.round(page.fetchedAt);
    const durationMs = Math.round(page.durationMs);
    const { canonical } = page;
    this.#pages.save(id, {
      ...{ ...page, fetchedAt, durationMs },
      ...(canonical !== undefined && { canonical: shortUrl(canonical, row.host) }),
    });
    this.#hosts.addPage(row);
    return true;
  }

  requeue(hostNumber: number, url: string, retry: Retry): void {
    const row = this.#hosts.numbered(hostNumber);
    this.#rows.amendments.requeue(row, this.#idOf(row, url), retry);
    // The next visit may be long after, as in a paused crawl.
    this.nextAt(hostNumber);
  }

  moveTo(hostNumber: number, url: Identity, { fetchUrl, hops }: FormHop): void {
    const row = this.#hosts.numbered(hostNumber);
    const form = fetchUrl === asForm(url) ? null : fetchUrl;
    this.#rows.amendments.moveTo(row, this.#idOf(row, url), form, hops);
  }

  /**
   * Copies and previous owners may have the page as done. So it moves to a later round, which
   * supersedes that *done*.
   */
  askAgain(hostNumber: number, url: Identity, way: WayBack): boolean {
    const { fetchUrl, isOther, isWhole, hopsMax } = way;
    const row = this.#hosts.numbered(hostNumber);
    const known = this.#s.answered.get(this.#idOf(row, url));
    if (!known || known.hops >= hopsMax || !this.#leadsTo(row, url, way)) return false;
    const form = fetchUrl === asForm(url) ? null : fetchUrl;
    if (form === known.fetchUrl && !isOther) return false;
    this.#refresh.backAt(row, known, isWhole);
    this.#rows.amendments.moveTo(row, known.id, form, known.hops + 1);
    return true;
  }

  /** Whether the redirects of finished pages lead from `url` to `from`. */
  #leadsTo(row: HostRow, url: Identity, { from, hopsMax }: WayBack): boolean {
    let at: string | null | undefined = url;
    for (let hops = 0; hops <= hopsMax; hops++) {
      if (at === from) return true;
      if (typeof at !== 'string' || splitIdentity(at)?.host !== row.host) return false;
      at = this.#pages.read(this.#idOf(row, at))?.redirectTo;
    }
    return false;
  }

  /** How many redirects in a row led to the URL over pages of its host; counts up to `max`. */
  redirectsTo(hostNumber: number, url: Identity, max: number): number {
    const row = this.#hosts.numbered(hostNumber);
    let at = url;
    for (let count = 0; count < max; count++) {
      const referrer = this.#s.referrer.get(this.#idOf(row, at));
      const from = referrer ? longUrl(referrer, row.host) : null;
      if (from === null || splitIdentity(from)?.host !== row.host) return count;
      const id = this.#idOf(row, from);
      if ((this.#pages.read(id) ?? this.#refresh.former(id))?.redirectTo !== at) return count;
      at = from;
    }
    return max;
  }

  /** Has no effect on a URL that has a verdict. False: it was given up here meanwhile. */
  decide(identity: string, verdict: Verdict): boolean {
    const networks = this.#rows.networks!;
    return this.#decided(identity, verdict, networks) || !networks.isGivenUp(identity);
  }

  #decided(identity: string, verdict: Verdict, networks: NetworkUrls): boolean {
    if (verdict.kind === 'new') return networks.accept(identity);
    if (!verdict.isFinal) return networks.postpone(identity, verdict.network);
    const n = this.#numbers.next();
    const ended = networks.end(identity, verdict.network, n);
    if (ended === null) return false;
    this.#hosts.addQueued(ended.row, -1);
    this.#rows.note(ended.row, ended.id, n, 'done');
    return true;
  }

  skip(hostNumber: number, url: string, reason: SkipReason): void {
    const row = this.#hosts.numbered(hostNumber);
    this.#skip(row, this.#idOf(row, url), reason);
  }

  #skip(row: HostRow, id: number, reason: SkipReason): void {
    // A skipped URL keeps its previous record, because it has no newer response.
    if (this.#leaveQueue(row, id, SKIPPED, null, reason) === undefined) return;
    this.#rows.shut.skipped(reason);
    this.#settle(row, id);
  }

  /** Returns its *again*; undefined if the URL is not queued: then nothing has changed. */
  #leaveQueue(
    row: HostRow,
    id: number,
    state: number,
    attempts: number | null,
    reason: SkipReason | null,
  ): number | undefined {
    const again = this.#s.leaveQueue.get(state, attempts, reason, id);
    if (again !== undefined) this.#hosts.addQueued(row, -1);
    return again;
  }

  #settle(row: HostRow, id: number): void {
    const n = this.#numbers.next();
    const { networks } = this.#rows;
    if (networks === null) {
      if (this.#s.settle.run(n, id).changes > 0) this.#rows.note(row, id, n, 'done');
      return;
    }
    const settled = this.#s.settleShared.get(n, id);
    if (!settled) return;
    this.#rows.note(row, id, n, 'done');
    networks.report(row, id, settled);
  }

  /** The id of the URL; below 0, which no row has, if the URL is unknown. */
  #idOf(row: HostRow, url: string): number {
    return this.#ids.find(row.number, urlKey(url, row.host));
  }

  endQueued(
    hostNumber: number,
    { origin, as }: QueueDrop,
    now: number,
    max: number,
    after: QueuePlace | null = null,
  ): { ended: number; upTo: QueuePlace | null } {
    const row = this.#hosts.numbered(hostNumber);
    const prefix = origin === null ? '' : urlKey(`${origin}/`, row.host);
    const looked = this.#s.queued.all(hostNumber, ...(after ?? BEFORE_ALL), LOOKED_AT_MAX);
    let ended = 0;
    for (const { id, key, notBefore, depth, found } of looked) {
      if (!key.startsWith(prefix)) continue;
      if (as.kind === 'skipped') this.#skip(row, id, as.reason);
      else this.#fail(row, id, as.error, now);
      if (++ended === max) return { ended, upTo: [notBefore, depth, found] };
    }
    const last = looked.length === LOOKED_AT_MAX ? looked.at(-1)! : null;
    return { ended, upTo: last && [last.notBefore, last.depth, last.found] };
  }

  #fail(row: HostRow, id: number, error: string, now: number): void {
    if (this.#finish(row, id, { ...NO_ANSWER, error, fetchedAt: now }, null)) {
      this.#settle(row, id);
    }
  }

  /**
   * Requeues this agent's pages whose archive records are lost, from that offset of the file on.
   * Copies have a *done* event that names the lost record, so each page moves to a later round,
   * which supersedes that *done*.
   *
   * @returns the number of pages
   */
  reopen(file: string, from: number): number {
    const lost = this.#s.archivedFrom.all(file, from);
    for (const { id, state, round } of lost) {
      const row = this.#hosts.numbered(hostNumberOf(id));
      const later = Math.max(this.#refresh.round, round + 1);
      this.#refresh.move(row, { id, state }, later, 0, undefined);
    }
    return lost.length;
  }

  settle(host: Host, url: string): void {
    const row = this.#hosts.find(host);
    if (row) this.#settle(row, this.#idOf(row, url));
  }

  unsettled(max: number): { host: Host; url: string }[] {
    return this.#s.unsettled.all(max).map(({ id, key }) => {
      const { host } = this.#hosts.numbered(hostNumberOf(id));
      return { host, url: identityOf(host, key) };
    });
  }

  fail(host: Host, item: UrlItem, error: string, now: number): void {
    this.insert(host, item, null);
    const row = this.#hosts.row(host);
    this.#fail(row, this.#idOf(row, item.url), error, now);
  }
}

/** The record of a page that ends without a request. */
const NO_ANSWER = {
  status: null,
  contentType: null,
  bytes: 0,
  digest: null,
  durationMs: 0,
  redirectTo: null,
} as const;

/** Expands the URLs that the file stores as keys. */
function whole(page: PageRow, host: Host): PageRow {
  const { canonical } = page;
  return canonical === undefined ? page : { ...page, canonical: longUrl(canonical, host) };
}

/**
 * Compares the host in an expression instead of with a bare parameter. To choose a partial index
 * (`state = 0`), the planner also inspects the values of bare parameters, and then SQLite compiles
 * the statement again for each new value: ten microseconds instead of one.
 */
const HOST = `${hostOfId('id')} = ? + 0`;
/** URLs whose wait ends in one step: all those of an origin wait until the same time. */
const RELEASED_MAX = 500;

const NEXT = `SELECT id, key, fetch_url AS fetchUrl, depth, attempts, failed_since AS failedSince, hops,
    ${referrerOf('u')} AS referrer, again, sitemap
  FROM urls u WHERE ${HOST} AND state = 0 AND not_before = 0`;

const SETTLE = 'UPDATE urls SET done = ? WHERE id = ? AND done = 0 AND state > 0';

function statements(db: Connection) {
  return {
    insert: db.prepare<
      [
        number,
        string,
        number,
        number,
        number,
        number,
        number,
        string | null,
        string | number | null,
        string | null,
        number,
        number,
        number,
      ]
    >(
      `INSERT INTO urls
        (id, key, state, depth, found, done, attempts, fetch_url, referrer, reason, round, sitemap,
         not_before)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    merge: db.prepare<
      [{ id: number; depth: number; attempts: number; opens: number }],
      { id: number; state: number; round: number }
    >(
      `UPDATE urls SET depth = min(depth, $depth), attempts = max(attempts, $attempts)
       WHERE id = $id AND (state = 0 AND (depth > $depth OR attempts < $attempts)
         OR $opens AND state = 3 AND reason = 'depth' AND depth > $depth)
       RETURNING id, state, round`,
    ),
    release: db.prepare<[number, number]>(
      `UPDATE urls SET not_before = 0 WHERE id IN (SELECT id FROM urls
       WHERE ${HOST} AND state = 0 AND not_before > 0 AND not_before <= min(?, ${ASKING - 1})
       LIMIT ${RELEASED_MAX})`,
    ),
    next: db.prepare<[number], QueuedRow>(`${NEXT} ORDER BY depth, found LIMIT 1`),
    nth: db.prepare<[number, number], QueuedRow>(`${NEXT} ORDER BY depth, found LIMIT 1 OFFSET ?`),
    good: db.prepare<[number], { fetchUrl: RequestForm | null }>(
      `SELECT u.fetch_url AS fetchUrl FROM urls u JOIN page_records p ON p.id = u.id
       WHERE u.id = ? AND u.state = 1 AND p.status BETWEEN 200 AND 399`,
    ),
    answered: db.prepare<
      [number],
      { id: number; state: number; round: number; hops: number; fetchUrl: string | null }
    >('SELECT id, state, round, hops, fetch_url AS fetchUrl FROM urls WHERE id = ? AND state = 1'),
    referrer: db
      .prepare<[number], string | null>(`SELECT ${referrerOf('u')} FROM urls u WHERE id = ?`)
      .pluck(),
    last: db.prepare<[number], QueuedRow>(`${NEXT} ORDER BY depth DESC, found DESC LIMIT 1`),
    nextAt: db
      .prepare<[number], number | null>(
        `SELECT min(not_before) FROM urls WHERE ${HOST} AND state = 0`,
      )
      .pluck(),
    queued: db.prepare<
      [number, number, number, number, number],
      { id: number; key: string; notBefore: number; depth: number; found: number }
    >(
      `SELECT id, key, not_before AS notBefore, depth, found FROM urls
       WHERE ${HOST} AND state = 0 AND (not_before, depth, found) > (?, ?, ?)
       ORDER BY not_before, depth, found LIMIT ?`,
    ),
    leaveQueue: db
      .prepare<[number, number | null, string | null, number], number>(
        `UPDATE urls SET state = ?, attempts = coalesce(?, attempts), reason = ?, not_before = 0
         WHERE id = ? AND state = 0 RETURNING again`,
      )
      .pluck(),
    settle: db.prepare<[number, number]>(SETTLE),
    settleShared: db.prepare<[number, number], SettledRow>(`${SETTLE} RETURNING key, state`),
    unsettled: db.prepare<[number], { id: number; key: string }>(
      `SELECT id, key FROM urls u INDEXED BY unsettled WHERE state IN (1, 2) AND done = 0
       AND EXISTS (SELECT 1 FROM host_rows h WHERE h.number = ${hostOfId('u.id')}) LIMIT ?`,
    ),
    archivedFrom: db.prepare<[string, number], { id: number; state: number; round: number }>(
      `SELECT u.id, u.state, u.round FROM page_records p JOIN urls u ON u.id = p.id
       JOIN host_rows h ON h.number = ${hostOfId('p.id')} AND h.owned
       WHERE ${internedText('p.warc_file')} = ? AND p.warc_offset >= ?`,
    ),
  };
}
