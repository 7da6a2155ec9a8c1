// The hosts of an agent's database: their numbers (in order of discovery), counters and the state
// of their visits. Counters change with every link, so rows are kept in a bounded cache and written
// once per commit.

import type { Host, HostFailures, RowsItem } from '../../core/protocol/messages.ts';
import type { HostRecord, QueuedHost } from '../../frontier/frontier-store.ts';
import type { Connection } from '../encoding/connection.ts';
import { namesHost } from '../encoding/host-pattern-sql.ts';

/** Rows in the cache, of some 200 bytes each. */
const CACHED_MAX = 20_000;
/**
 * Rows that are read ahead. At a start and after a change of the view, all hosts are read in order
 * of their numbers, and reading ahead takes a fifth of the time.
 */
const READ_AHEAD = 256;
/**
 * Largest step between two numbers that still counts as reading in order: hosts without a queue are
 * skipped.
 */
const GAP_MAX = 64;

export interface HostRow {
  readonly number: number;
  readonly host: Host;
  queued: number;
  outOfScope: number;
  pagesDone: number;
  notBefore: number;
  /** When the first queued URL may be requested if all wait for a retry; else 0. For the views. */
  retryAt: number;
  lastFetchAt: number | null;
  busy: number;
  busyUntil: number;
  busySince: number | null;
  blocks: number;
  unconnected: number;
  unanswered: number;
  /** The delay after its last request; 0: no request yet. */
  delayMs: number;
  stale: number;
  ip: string | null;
  /** 1: the views show it as this agent's host; 0: a copy of another agent's host. */
  owned: number;
  /** The highest number assigned to the host, for an event or without one. */
  last: number;
  /** All of its URLs that a recrawl requeues are of this round or a later one. */
  round: number;
  /** The id up to which the present round has checked its URLs; -1: none. In memory only. */
  refreshedTo: number;
}

export interface OwnedHosts {
  hosts: number;
  hostsWithQueue: number;
  queued: number;
  pages: number;
}

type Reported = Pick<RowsItem, 'backoffMs' | 'delayMs' | 'busy' | 'stale' | 'failures'>;

const NO_FAILURES: HostFailures = { busyMs: 0, blocks: 0, unconnected: 0, unanswered: 0 };

/** The columns that change, by property. */
const NAMES = {
  queued: 'queued',
  outOfScope: 'out_of_scope',
  pagesDone: 'pages_done',
  notBefore: 'not_before',
  retryAt: 'retry_at',
  lastFetchAt: 'last_fetch_at',
  busy: 'busy',
  busyUntil: 'busy_until',
  busySince: 'busy_since',
  blocks: 'blocks',
  unconnected: 'unconnected',
  unanswered: 'unanswered',
  delayMs: 'delay_ms',
  stale: 'stale',
  ip: 'ip',
  owned: 'owned',
  last: 'last',
  round: 'round',
} as const satisfies Partial<Record<keyof HostRow, string>>;
const WRITTEN = Object.keys(NAMES) as (keyof typeof NAMES)[];

const COLUMNS = `number, host, ${WRITTEN.map((name) => `${NAMES[name]} AS ${name}`).join(', ')},
  -1 AS refreshedTo`;

export class HostTable {
  readonly #byName = new Map<Host, HostRow>();
  readonly #byNumber = new Map<number, HostRow>();
  readonly #dirty = new Set<HostRow>();
  readonly #s: ReturnType<typeof statements>;
  /** Counts of this agent's hosts, updated with each change: a query is too slow. */
  #owned: OwnedHosts | null = null;
  /** The number up to which rows were read last. */
  #readTo = -1;

  constructor(db: Connection) {
    this.#s = statements(db);
  }

  /** The host's row; a new one is created, as this agent's host or as a copy. */
  row(host: Host, owned = true): HostRow {
    const known = this.#byName.get(host);
    if (known) return known;
    let row = this.#s.byName.get(host);
    if (!row) {
      this.#s.insert.run(host, owned ? 1 : 0);
      row = this.#s.byName.get(host)!;
      this.#count(row, 1);
      return this.#keep(row);
    }
    return this.#keepWithNext(row);
  }

  find(host: Host): HostRow | undefined {
    const known = this.#byName.get(host);
    if (known) return known;
    const row = this.#s.byName.get(host);
    return row && this.#keepWithNext(row);
  }

  numbered(number: number): HostRow {
    return this.#byNumber.get(number) ?? this.#keep(this.#s.byNumber.get(number)!);
  }

  /** Caches the row, and reads ahead if the hosts are apparently read in order. */
  #keepWithNext(row: HostRow): HostRow {
    const gap = row.number - this.#readTo;
    this.#readTo = row.number;
    if (gap > 0 && gap <= GAP_MAX) {
      // Makes room first: dropping rows later could drop some of those just read.
      if (this.#byName.size + READ_AHEAD >= CACHED_MAX) this.#shed();
      for (const next of this.#s.after.all(row.number, READ_AHEAD)) {
        if (!this.#byName.has(next.host)) this.#keep(next);
        this.#readTo = next.number;
      }
    }
    return this.#keep(row);
  }

  #keep(row: HostRow): HostRow {
    if (this.#byName.size >= CACHED_MAX) this.#shed();
    this.#byName.set(row.host, row);
    this.#byNumber.set(row.number, row);
    return row;
  }

  /** Drops half of the rows, but no unwritten ones: they exist only in this cache. */
  #shed(): void {
    let left = CACHED_MAX / 2;
    if (this.#dirty.size > left) this.flush();
    for (const row of this.#byName.values()) {
      if (left === 0) return;
      if (this.#dirty.has(row)) continue;
      this.#byName.delete(row.host);
      this.#byNumber.delete(row.number);
      left--;
    }
  }

  addQueued(row: HostRow, by: number): void {
    this.#count(row, -1);
    row.queued += by;
    if (by > 0) row.retryAt = 0;
    this.#count(row, 1);
    this.#dirty.add(row);
  }

  setRetryAt(row: HostRow, at: number): void {
    if (row.retryAt === at) return;
    row.retryAt = at;
    this.#dirty.add(row);
  }

  /** Counts a URL that ended with a response or failed; -1: it is requeued. */
  addPage(row: HostRow, by: 1 | -1 = 1): void {
    this.#count(row, -1);
    row.pagesDone += by;
    this.#count(row, 1);
    this.#dirty.add(row);
  }

  setOwned(row: HostRow, owned: boolean): void {
    const value = owned ? 1 : 0;
    if (row.owned === value) return;
    this.#count(row, -1);
    row.owned = value;
    this.#count(row, 1);
    this.#dirty.add(row);
  }

  /**
   * Stores another agent's state of the host, for the case that this agent becomes its owner. If it
   * already is the owner, its own counts are not lowered.
   */
  mergeReport(row: HostRow, reported: Reported, owned: boolean, now: number): void {
    const { backoffMs, delayMs, failures = NO_FAILURES, ...counts } = reported;
    this.#reportFailures(row, failures, owned, now);
    const busy = Math.max(counts.busy ?? 0, owned ? row.busy : 0);
    const stale = Math.max(counts.stale ?? 0, owned ? row.stale : 0);
    const isKnown = busy === row.busy && stale === row.stale && delayMs === row.delayMs;
    if (isKnown && backoffMs === 0) return;
    if (backoffMs > 0) row.notBefore = Math.max(row.notBefore, now + backoffMs);
    // If only the number of blocks is known, they end now, and their expiry counts from now.
    const endsAt = backoffMs > 0 || row.busy === 0 ? now + backoffMs : 0;
    if (busy > 0) row.busyUntil = Math.max(row.busyUntil, endsAt);
    Object.assign(row, { delayMs, busy, stale });
    this.#dirty.add(row);
  }

  /** The same for consecutive failures. */
  #reportFailures(row: HostRow, reported: HostFailures, owned: boolean, now: number): void {
    const least = owned ? row : NO_FAILURES;
    const blocks = Math.max(reported.blocks, least.blocks);
    const unconnected = Math.max(reported.unconnected, least.unconnected);
    const unanswered = Math.max(reported.unanswered, least.unanswered);
    const since = reported.blocks > 0 ? now - reported.busyMs : null;
    const busySince = owned ? earlier(since, row.busySince) : since;
    const isKnown =
      blocks === row.blocks && unconnected === row.unconnected && unanswered === row.unanswered;
    if (isKnown && (busySince === null) === (row.busySince === null)) return;
    Object.assign(row, { blocks, unconnected, unanswered, busySince });
    this.#dirty.add(row);
  }

  /** The failures of the host as of `now`, in the form that `told` receives. */
  failures(row: HostRow, now: number): HostFailures | undefined {
    const { busySince, blocks, unconnected, unanswered } = row;
    if (blocks === 0 && unconnected === 0 && unanswered === 0) return undefined;
    const busyMs = busySince === null ? 0 : Math.max(0, now - busySince);
    return { busyMs, blocks, unconnected, unanswered };
  }

  raiseLast(row: HostRow, n: number): void {
    if (n <= row.last) return;
    row.last = n;
    this.#dirty.add(row);
  }

  refreshed(row: HostRow, round: number): void {
    row.round = round;
    row.refreshedTo = -1;
    this.#dirty.add(row);
  }

  /** Lowers the round of the host: it has received a URL of an earlier round. */
  fallBehind(row: HostRow, round: number): void {
    row.refreshedTo = -1;
    if (round >= row.round) return;
    row.round = round;
    this.#dirty.add(row);
  }

  /** A new round begins: all hosts are checked from their first URL. */
  restart(): void {
    for (const row of this.#byName.values()) row.refreshedTo = -1;
  }

  delete(row: HostRow): void {
    this.#count(row, -1);
    this.#dirty.delete(row);
    this.#byName.delete(row.host);
    this.#byNumber.delete(row.number);
    this.#s.delete.run(row.number);
  }

  addOutOfScope(row: HostRow, by: number): void {
    row.outOfScope += by;
    this.#dirty.add(row);
  }

  record(host: Host): HostRecord {
    const row = this.row(host);
    // Not by spread: for 100,000 hosts at a start, this saves a microsecond for each.
    return {
      number: row.number,
      host,
      notBefore: row.notBefore,
      lastFetchAt: row.lastFetchAt,
      busy: row.busy,
      busyUntil: row.busyUntil,
      busySince: row.busySince,
      blocks: row.blocks,
      unconnected: row.unconnected,
      unanswered: row.unanswered,
      delayMs: row.delayMs,
      stale: row.stale,
    };
  }

  save(record: HostRecord, ip: string | null): void {
    const row = this.numbered(record.number);
    row.notBefore = record.notBefore;
    row.lastFetchAt = record.lastFetchAt;
    row.busy = record.busy;
    row.busyUntil = record.busyUntil;
    row.busySince = record.busySince;
    row.blocks = record.blocks;
    row.unconnected = record.unconnected;
    row.unanswered = record.unanswered;
    row.delayMs = record.delayMs;
    row.stale = record.stale;
    row.ip = ip ?? row.ip;
    this.#dirty.add(row);
  }

  /** Writes the changed rows. Needs the open transaction of a turn. */
  flush(): void {
    for (const row of this.#dirty)
      this.#s.update.run(...WRITTEN.map((name) => row[name]), row.number);
    this.#dirty.clear();
  }

  /** Drops the cache after a failed turn, so later turns do not write its changes. */
  forget(): void {
    this.#owned = null;
    this.#dirty.clear();
    this.#byName.clear();
    this.#byNumber.clear();
  }

  namesAfter(number: number, max: number): { number: number; host: Host }[] {
    return this.#s.names.all(number, max);
  }

  /**
   * The number of this agent's hosts that match the pattern. A pattern with `*` scans all hosts,
   * which takes 0.1 s for a million.
   */
  named(pattern: string): number {
    if (!pattern.startsWith('*')) return this.find(pattern)?.owned ?? 0;
    this.flush();
    return this.#s.named.get(pattern)!;
  }

  last(): number {
    return this.#s.last.get() ?? 0;
  }

  owned(): OwnedHosts {
    if (this.#owned === null) {
      this.flush();
      this.#owned = this.#s.owned.get()!;
    }
    return { ...this.#owned };
  }

  /** Adds the row to the counts of this agent's hosts, or subtracts it before a change. */
  #count(row: HostRow, sign: 1 | -1): void {
    const counts = this.#owned;
    if (counts === null || row.owned === 0) return;
    counts.hosts += sign;
    if (row.queued > 0) counts.hostsWithQueue += sign;
    counts.queued += sign * row.queued;
    counts.pages += sign * row.pagesDone;
  }

  queuedFrom(number: number, max: number): QueuedHost[] {
    this.flush();
    const rows = this.#s.queuedFrom.all(number, max);
    return rows.map((row) => ({ ...row, owned: row.owned === 1 }));
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function statements(db: Connection) {
  return {
    byName: db.prepare<[Host], HostRow>(`SELECT ${COLUMNS} FROM host_rows WHERE host = ?`),
    after: db.prepare<[number, number], HostRow>(
      `SELECT ${COLUMNS} FROM host_rows WHERE number > ? ORDER BY number LIMIT ?`,
    ),
    byNumber: db.prepare<[number], HostRow>(`SELECT ${COLUMNS} FROM host_rows WHERE number = ?`),
    insert: db.prepare<[Host, number]>(
      `INSERT INTO host_rows (number, host, owned)
       VALUES (1 + max(coalesce((SELECT max(number) FROM host_rows), 0),
         coalesce((SELECT max(number) FROM deleted_hosts), 0)), ?, ?)`,
    ),
    update: db.prepare<(string | number | null)[]>(
      `UPDATE host_rows SET ${WRITTEN.map((name) => `${NAMES[name]} = ?`).join(', ')}
       WHERE number = ?`,
    ),
    delete: db.prepare<[number]>('DELETE FROM host_rows WHERE number = ?'),
    owned: db.prepare<[], OwnedHosts>(
      `SELECT count(*) AS hosts, coalesce(sum(queued > 0), 0) AS hostsWithQueue,
        coalesce(sum(queued), 0) AS queued, coalesce(sum(pages_done), 0) AS pages
       FROM host_rows WHERE owned`,
    ),
    names: db.prepare<[number, number], { number: number; host: Host }>(
      'SELECT number, host FROM host_rows WHERE number > ? ORDER BY number LIMIT ?',
    ),
    named: db
      .prepare<[string], number>(
        `SELECT count(*) FROM (SELECT ? AS pattern) o, host_rows h
         WHERE h.owned AND ${namesHost('o.pattern', 'h.host')}`,
      )
      .pluck(),
    last: db.prepare<[], number | null>('SELECT max(number) FROM host_rows').pluck(),
    queuedFrom: db.prepare<[number, number], Pick<HostRow, 'number' | 'host' | 'owned'>>(
      `SELECT number, host, owned FROM host_rows
       WHERE queued > 0 AND number >= ? ORDER BY number LIMIT ?`,
    ),
  };
}
