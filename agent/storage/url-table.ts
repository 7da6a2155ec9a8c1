// The known URLs of each host, clustered by host: queued, fetched, failed or skipped, with their
// depth, order and first referrer, and the record of each finished page beside them. The state of
// a URL only moves forward (DESIGN section 3). Reached through `SqliteStore`.

import type { Host, PageRow, UrlItem } from '../core/messages.ts';
import type { SkipReason } from '../core/store.ts';
import type { PageRecord, QueuedUrl, QueueEnding } from '../frontier/store.ts';
import { identityOf, keyOf } from '../url/url-key.ts';
import type { Connection } from './database.ts';
import type { HostRow, HostTable } from './host-table.ts';
import type { Note, Numbers } from './numbers.ts';
import {
  longUrl,
  PAGE_COLUMNS,
  PAGE_VALUES,
  pageParameters,
  type StoredPage,
  shortUrl,
} from './page-columns.ts';
import type { RefreshTable } from './refresh-table.ts';

interface QueuedRow {
  readonly key: string;
  readonly fetchUrl: string | null;
  readonly depth: number;
  readonly attempts: number;
  readonly referrer: string | null;
}

export class UrlTable {
  readonly #hosts: HostTable;
  readonly #numbers: Numbers;
  readonly #note: Note;
  readonly #refresh: RefreshTable;
  readonly #s: ReturnType<typeof statements>;

  constructor(
    db: Connection,
    hosts: HostTable,
    numbers: Numbers,
    note: Note,
    refresh: RefreshTable,
  ) {
    this.#hosts = hosts;
    this.#refresh = refresh;
    this.#numbers = numbers;
    this.#note = note;
    this.#s = statements(db);
  }

  /**
   * True if the URL was not known. A known queued one comes to depth 0 if it was seen on another
   * host, and takes over attempts that a former owner made.
   */
  insert(host: Host, item: UrlItem, skip: SkipReason | null): boolean {
    const row = this.#hosts.row(host);
    const key = keyOf(item.url, host);
    const found = this.#numbers.next();
    const done = skip === null ? 0 : this.#numbers.next();
    const changes = this.#s.insert.run(
      row.number,
      key,
      skip === null ? 0 : 3,
      item.depth,
      found,
      done,
      item.attempts ?? 0,
      item.fetchUrl ?? null,
      item.referrer === undefined ? null : shortUrl(item.referrer, host),
      skip,
      this.#refresh.round,
    ).changes;
    if (changes === 0) {
      const { depth, attempts = 0 } = item;
      if (depth === 0 || attempts > 0) {
        this.#s.merge.run({ host: row.number, key, depth, attempts });
      }
      return false;
    }
    this.#note(row, key, found, 'found');
    if (skip === null) this.#hosts.addQueued(row, 1);
    else this.#note(row, key, done, 'done');
    return true;
  }

  next(hostNumber: number, now: number): QueuedUrl | null {
    this.#s.release.run(hostNumber, now);
    const found = this.#s.next.get(hostNumber);
    if (!found) return null;
    const { host } = this.#hosts.numbered(hostNumber);
    const url = identityOf(host, found.key);
    const { depth, attempts, referrer } = found;
    const former = found.again > 0 ? this.#refresh.former(hostNumber, found.found) : undefined;
    return {
      ...{ url, fetchUrl: found.fetchUrl ?? url, depth, attempts },
      ...(referrer !== null && { referrer: longUrl(referrer, host) }),
      ...(former && { former: whole(former, host) }),
    };
  }

  nextAt(hostNumber: number): number | null {
    return this.#s.nextAt.get(hostNumber) ?? null;
  }

  recordPage(hostNumber: number, page: PageRecord): void {
    const row = this.#hosts.numbered(hostNumber);
    this.#finish(row, keyOf(page.url, row.host), page, page.attempts);
  }

  /** False if the URL is not queued: its state only moves forward. */
  #finish(row: HostRow, key: string, page: PageRecord, attempts: number | null): boolean {
    const found = this.#leaveQueue(row, key, page.status === null ? 2 : 1, attempts, null);
    if (found === undefined) return false;
    const fetchedAt = Math.round(page.fetchedAt);
    const durationMs = Math.round(page.durationMs);
    const { canonical } = page;
    const columns = pageParameters({
      ...{ ...page, fetchedAt, durationMs },
      ...(canonical !== undefined && { canonical: shortUrl(canonical, row.host) }),
    });
    this.#s.record.run({ ...columns, host: row.number, found });
    this.#hosts.addPage(row);
    return true;
  }

  requeue(hostNumber: number, url: string, attempts: number, notBefore: number): void {
    const key = keyOf(url, this.#hosts.numbered(hostNumber).host);
    this.#s.requeue.run(attempts, notBefore, hostNumber, key);
  }

  skip(hostNumber: number, url: string, reason: SkipReason): void {
    const row = this.#hosts.numbered(hostNumber);
    this.#skip(row, keyOf(url, row.host), reason);
  }

  #skip(row: HostRow, key: string, reason: SkipReason): void {
    const found = this.#leaveQueue(row, key, 3, null, reason);
    if (found !== undefined) this.#settle(row, key);
  }

  /** The *found* number of the URL, or undefined if it is not queued. */
  #leaveQueue(
    row: HostRow,
    key: string,
    state: number,
    attempts: number | null,
    reason: SkipReason | null,
  ): number | undefined {
    const left = this.#s.leaveQueue.get(state, attempts, reason, row.number, key);
    if (left === undefined) return undefined;
    this.#hosts.addQueued(row, -1);
    if (left.again > 0) this.#refresh.forget(row.number, left.found);
    return left.found;
  }

  #settle(row: HostRow, key: string): void {
    const n = this.#numbers.next();
    if (this.#s.settle.run(n, row.number, key).changes > 0) this.#note(row, key, n, 'done');
  }

  /** Ends up to `max` queued URLs whose keys begin with `prefix`; gives how many. */
  endQueued(
    hostNumber: number,
    prefix: string,
    as: QueueEnding['as'],
    now: number,
    max: number,
  ): number {
    const row = this.#hosts.numbered(hostNumber);
    const keys = this.#s.queuedKeys.all(hostNumber, prefix, prefix, max);
    for (const key of keys) {
      if (as.kind === 'skipped') this.#skip(row, key, as.reason);
      else this.#fail(row, key, as.error, now);
    }
    return keys.length;
  }

  #fail(row: HostRow, key: string, error: string, now: number): void {
    const page = failedPage(identityOf(row.host, key), error, now);
    if (this.#finish(row, key, page, null)) this.#settle(row, key);
  }

  /**
   * Pages of this agent whose records are lost, from that offset of the file on, are queued again:
   * as URLs found anew, since numbers that were given never change their meaning. Gives how many.
   */
  reopen(file: string, from: number): number {
    const lost = this.#s.archivedFrom.all(file, from);
    for (const { number, key, found, depth, fetchUrl, referrer } of lost) {
      const row = this.#hosts.numbered(number);
      this.#s.deleteRecord.run(number, found);
      this.#s.deleteUrl.run(number, key);
      this.#hosts.addPage(row, -1);
      const item = { url: identityOf(row.host, key), depth };
      const form = fetchUrl === null ? {} : { fetchUrl };
      const from = referrer === null ? {} : { referrer: longUrl(referrer, row.host) };
      this.insert(row.host, { ...item, ...form, ...from }, null);
    }
    return lost.length;
  }

  settle(host: Host, url: string): void {
    const row = this.#hosts.find(host);
    if (row) this.#settle(row, keyOf(url, host));
  }

  unsettled(max: number): { host: Host; url: string }[] {
    return this.#s.unsettled.all(max).map(({ number, key }) => {
      const { host } = this.#hosts.numbered(number);
      return { host, url: identityOf(host, key) };
    });
  }

  fail(host: Host, item: UrlItem, error: string, now: number): void {
    this.insert(host, item, null);
    this.#fail(this.#hosts.row(host), keyOf(item.url, host), error, now);
  }
}

/** A page that ends without a request of its own; its attempts stay as they were counted. */
function failedPage(url: string, error: string, now: number): PageRecord {
  return {
    url,
    status: null,
    error,
    contentType: null,
    bytes: 0,
    digest: null,
    fetchedAt: now,
    durationMs: 0,
    redirectTo: null,
    attempts: 0,
  };
}

/** With its URLs as they are outside of the file. */
function whole(page: PageRow, host: Host): PageRow {
  const { canonical } = page;
  return canonical === undefined ? page : { ...page, canonical: longUrl(canonical, host) };
}

interface ArchivedRow extends Pick<QueuedRow, 'key' | 'depth' | 'fetchUrl' | 'referrer'> {
  readonly number: number;
  readonly found: number;
}

/**
 * The planner proves the partial indexes (`state = 0`) by the statement's variables too, and where
 * it has looked at a bare one, each new value has the statement compiled anew: ten microseconds
 * instead of one. So a host by which a queue is read stands in an expression.
 */
const HOST = 'host = ? + 0';

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
        string | null,
        string | null,
        number,
      ]
    >(
      `INSERT OR IGNORE INTO urls
        (host, key, state, depth, found, done, attempts, fetch_url, referrer, reason, round)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    merge: db.prepare<[{ host: number; key: string; depth: number; attempts: number }]>(
      `UPDATE urls SET depth = min(depth, $depth), attempts = max(attempts, $attempts)
       WHERE host = $host AND key = $key AND state = 0
         AND (depth > $depth OR attempts < $attempts)`,
    ),
    release: db.prepare<[number, number]>(
      `UPDATE urls SET not_before = 0
       WHERE ${HOST} AND state = 0 AND not_before > 0 AND not_before <= ?`,
    ),
    next: db.prepare<[number], QueuedRow & { found: number; again: number }>(
      `SELECT key, fetch_url AS fetchUrl, depth, attempts, referrer, found, again FROM urls
       WHERE ${HOST} AND state = 0 AND not_before = 0 ORDER BY depth, found LIMIT 1`,
    ),
    nextAt: db
      .prepare<[number], number | null>(
        `SELECT min(not_before) FROM urls WHERE ${HOST} AND state = 0`,
      )
      .pluck(),
    queuedKeys: db
      .prepare<[number, string, string, number], string>(
        `SELECT key FROM urls WHERE host = ? AND state = 0
         AND substr(key, 1, length(?)) = ? LIMIT ?`,
      )
      .pluck(),
    leaveQueue: db.prepare<
      [number, number | null, string | null, number, string],
      { found: number; again: number }
    >(
      `UPDATE urls SET state = ?, attempts = coalesce(?, attempts), reason = ?, not_before = 0
         WHERE host = ? AND key = ? AND state = 0 RETURNING found, again`,
    ),
    requeue: db.prepare<[number, number, number, string]>(
      'UPDATE urls SET attempts = ?, not_before = ? WHERE host = ? AND key = ? AND state = 0',
    ),
    settle: db.prepare<[number, number, string]>(
      'UPDATE urls SET done = ? WHERE host = ? AND key = ? AND done = 0 AND state > 0',
    ),
    unsettled: db.prepare<[number], { number: number; key: string }>(
      `SELECT host AS number, key FROM urls INDEXED BY unsettled
       WHERE state IN (1, 2) AND done = 0 LIMIT ?`,
    ),
    archivedFrom: db.prepare<[string, number], ArchivedRow>(
      `SELECT u.host AS number, u.key, u.found, u.depth, u.fetch_url AS fetchUrl, u.referrer
       FROM page_records p JOIN host_rows h ON h.number = p.host AND h.owned
       JOIN urls u ON u.host = p.host AND u.found = p.found
       WHERE p.warc_file = ? AND p.warc_offset >= ?`,
    ),
    deleteRecord: db.prepare<[number, number]>(
      'DELETE FROM page_records WHERE host = ? AND found = ?',
    ),
    deleteUrl: db.prepare<[number, string]>('DELETE FROM urls WHERE host = ? AND key = ?'),
    record: db.prepare<[StoredPage & { host: number; found: number }]>(
      `INSERT INTO page_records (host, found, ${PAGE_COLUMNS})
       VALUES ($host, $found, ${PAGE_VALUES})`,
    ),
  };
}
