// The known URLs of each host, clustered by host: queued, fetched, failed or skipped, with their
// depth, order and first referrer, and the record of each finished page beside them. The state of
// a URL only moves forward (DESIGN section 3). Reached through `SqliteStore`.

import type { Host, UrlItem } from '../core/messages.ts';
import type { SkipReason } from '../core/store.ts';
import type { PageRecord, QueuedUrl } from '../frontier/store.ts';
import { identityOf, keyOf } from '../url/url-key.ts';
import type { Connection } from './database.ts';
import type { HostRow, HostTable } from './host-table.ts';

/** The counter from which *found* and *done* numbers come. */
export interface Numbers {
  next(): number;
}

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
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection, hosts: HostTable, numbers: Numbers) {
    this.#hosts = hosts;
    this.#numbers = numbers;
    this.#s = statements(db);
  }

  /** True if the URL was not known. A known queued one may come nearer to the root. */
  insert(host: Host, item: UrlItem, skip: SkipReason | null): boolean {
    const row = this.#hosts.row(host);
    const key = keyOf(item.url, host);
    const changes = this.#s.insert.run(
      row.number,
      key,
      skip === null ? 0 : 3,
      item.depth,
      this.#numbers.next(),
      skip === null ? 0 : this.#numbers.next(),
      item.attempts ?? 0,
      item.fetchUrl ?? null,
      shortReferrer(item.referrer, host),
      skip,
    ).changes;
    if (changes === 0) {
      if (item.depth === 0) this.#s.nearer.run(row.number, key);
      return false;
    }
    if (skip === null) this.#hosts.addQueued(row, 1);
    return true;
  }

  next(hostNumber: number, now: number): QueuedUrl | null {
    const found = this.#s.next.get(hostNumber, now);
    if (!found) return null;
    const url = identityOf(this.#hosts.numbered(hostNumber).host, found.key);
    const { depth, attempts } = found;
    return { url, fetchUrl: found.fetchUrl ?? url, depth, attempts };
  }

  nextAt(hostNumber: number): number | null {
    return this.#s.nextAt.get(hostNumber) ?? null;
  }

  recordPage(hostNumber: number, page: PageRecord): void {
    const row = this.#hosts.numbered(hostNumber);
    const key = keyOf(page.url, row.host);
    const state = page.status === null ? 2 : 1;
    this.#leaveQueue(row, key, state, page.attempts, null);
    this.#s.record.run({ ...page, host: hostNumber, key });
  }

  requeue(hostNumber: number, url: string, attempts: number, notBefore: number): void {
    const key = keyOf(url, this.#hosts.numbered(hostNumber).host);
    this.#s.requeue.run(attempts, notBefore, hostNumber, key);
  }

  skip(hostNumber: number, url: string, reason: SkipReason): void {
    const row = this.#hosts.numbered(hostNumber);
    const key = keyOf(url, row.host);
    this.#leaveQueue(row, key, 3, null, reason);
    this.#s.settle.run(this.#numbers.next(), hostNumber, key);
  }

  #leaveQueue(
    row: HostRow,
    key: string,
    state: number,
    attempts: number | null,
    reason: SkipReason | null,
  ): void {
    const { changes } = this.#s.leaveQueue.run(state, attempts, reason, row.number, key);
    if (changes > 0) this.#hosts.addQueued(row, -1);
  }

  skipQueued(hostNumber: number, prefix: string, reason: SkipReason): number {
    const row = this.#hosts.numbered(hostNumber);
    const queued = this.#queuedKeys(hostNumber, prefix);
    for (const key of queued) {
      this.#leaveQueue(row, key, 3, null, reason);
      this.#s.settle.run(this.#numbers.next(), hostNumber, key);
    }
    return queued.length;
  }

  failQueued(hostNumber: number, prefix: string, error: string, now: number): number {
    const { host } = this.#hosts.numbered(hostNumber);
    const queued = this.#queuedKeys(hostNumber, prefix);
    for (const key of queued) {
      this.recordPage(hostNumber, failedPage(identityOf(host, key), error, now, 0));
      this.#s.settle.run(this.#numbers.next(), hostNumber, key);
    }
    return queued.length;
  }

  #queuedKeys(hostNumber: number, prefix: string): string[] {
    return this.#s.queuedKeys.all(hostNumber, prefix, prefix);
  }

  /** Removes queued rows, to be sent to another agent. */
  takeQueued(host: Host, max: number): UrlItem[] {
    const row = this.#hosts.find(host);
    if (!row) return [];
    const queued = this.#s.queuedRows.all(row.number, max);
    for (const { key } of queued) this.#s.remove.run(row.number, key);
    this.#hosts.addQueued(row, -queued.length);
    return queued.map(({ key, fetchUrl, depth, attempts, referrer }) => ({
      url: identityOf(host, key),
      depth,
      attempts,
      ...(fetchUrl === null ? {} : { fetchUrl }),
      ...(referrer === null ? {} : { referrer: longReferrer(referrer, host) }),
    }));
  }

  settle(host: Host, url: string): void {
    const { number } = this.#hosts.row(host);
    this.#s.settle.run(this.#numbers.next(), number, keyOf(url, host));
  }

  unsettled(max: number): { host: Host; url: string }[] {
    return this.#s.unsettled.all(max).map(({ number, key }) => {
      const { host } = this.#hosts.numbered(number);
      return { host, url: identityOf(host, key) };
    });
  }

  fail(host: Host, item: UrlItem, error: string, now: number): void {
    this.insert(host, item, null);
    const { number } = this.#hosts.row(host);
    this.recordPage(number, failedPage(item.url, error, now, item.attempts ?? 0));
    this.settle(host, item.url);
  }
}

function failedPage(url: string, error: string, now: number, attempts: number): PageRecord {
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
    attempts,
  };
}

/** On the same host a referrer is stored as its key. */
function shortReferrer(referrer: string | undefined, host: Host): string | null {
  if (referrer === undefined) return null;
  const after = referrer.startsWith('https') ? 8 : 7;
  const same = referrer.startsWith(host, after) && '/:.'.includes(referrer[after + host.length]!);
  return same ? keyOf(referrer, host) : referrer;
}

function longReferrer(stored: string, host: Host): string {
  return stored[1] === 't' ? stored : identityOf(host, stored);
}

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
      ]
    >(
      `INSERT OR IGNORE INTO urls
        (host, key, state, depth, found, done, attempts, fetch_url, referrer, reason)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    nearer: db.prepare<[number, string]>(
      'UPDATE urls SET depth = 0 WHERE host = ? AND key = ? AND state = 0 AND depth > 0',
    ),
    next: db.prepare<[number, number], QueuedRow>(
      `SELECT key, fetch_url AS fetchUrl, depth, attempts, referrer FROM urls
       WHERE host = ? AND state = 0 AND not_before <= ? ORDER BY depth, found LIMIT 1`,
    ),
    nextAt: db
      .prepare<[number], number | null>(
        'SELECT min(not_before) FROM urls WHERE host = ? AND state = 0',
      )
      .pluck(),
    queuedRows: db.prepare<[number, number], QueuedRow>(
      `SELECT key, fetch_url AS fetchUrl, depth, attempts, referrer FROM urls
       WHERE host = ? AND state = 0 ORDER BY depth, found LIMIT ?`,
    ),
    queuedKeys: db
      .prepare<[number, string, string], string>(
        'SELECT key FROM urls WHERE host = ? AND state = 0 AND substr(key, 1, length(?)) = ?',
      )
      .pluck(),
    remove: db.prepare<[number, string]>('DELETE FROM urls WHERE host = ? AND key = ?'),
    leaveQueue: db.prepare<[number, number | null, string | null, number, string]>(
      `UPDATE urls SET state = ?, attempts = coalesce(?, attempts), reason = ?
       WHERE host = ? AND key = ? AND state = 0`,
    ),
    requeue: db.prepare<[number, number, number, string]>(
      'UPDATE urls SET attempts = ?, not_before = ? WHERE host = ? AND key = ? AND state = 0',
    ),
    settle: db.prepare<[number, number, string]>(
      'UPDATE urls SET done = ? WHERE host = ? AND key = ? AND done = 0',
    ),
    unsettled: db.prepare<[number], { number: number; key: string }>(
      `SELECT host AS number, key FROM urls INDEXED BY unsettled
       WHERE state IN (1, 2) AND done = 0 LIMIT ?`,
    ),
    record: db.prepare<[PageRecord & { host: number; key: string }]>(
      `INSERT OR REPLACE INTO page_records
        (host, key, status, error, content_type, bytes, digest, fetched_at, duration_ms,
         redirect_to)
       VALUES ($host, $key, $status, $error, $contentType, $bytes, $digest, $fetchedAt,
         $durationMs, $redirectTo)`,
    ),
  };
}
