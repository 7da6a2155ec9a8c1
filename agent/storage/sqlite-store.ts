// The durable state of one agent. It implements the storage ports of the core and the frontier over
// the tables of `state.sqlite`. One turn of the loop is one transaction between `begin` and
// `commit`. A commit with `durable` has reached the disk when it returns, as far as
// `storage.durability` requires. Tests and the simulator use the same class over a database in
// memory.

import type {
  HostCounts,
  Insertion,
  OutboxEntry,
  PlacedEntry,
  ShutUrl,
  SkipReason,
  Store,
} from '../core/protocol/core-store.ts';
import type { EventDetail, EventKind } from '../core/protocol/event-log.ts';
import type { AgentId, Host, Incarnation, RowsItem, UrlItem } from '../core/protocol/messages.ts';
import type { ArchivedAt } from '../core/protocol/outcome.ts';
import type {
  FormHop,
  FrontierStore,
  HostRecord,
  PageRecord,
  QueuedHost,
  Retry,
  RobotsRecord,
} from '../frontier/frontier-store.ts';
import type { Identity } from '../url/crawl-url.ts';
import type { Connection } from './encoding/connection.ts';
import { UrlIds } from './encoding/url-ids.ts';
import { storageFailureOf } from './file/storage-failure.ts';
import type { NetworkUrls } from './rows/network-urls.ts';
import { RowTable } from './rows/row-table.ts';
import { UrlTable } from './rows/url-table.ts';
import type { Durability, StoreOptions } from './store-options.ts';
import { saveConfigDelays } from './tables/config-delays.ts';
import { HostTable } from './tables/host-table.ts';
import { OutboxTable } from './tables/outbox-table.ts';
import { SampleTable } from './tables/sample-table.ts';
import { TombstoneTable } from './tables/tombstone-table.ts';

/** Longest wait for another program's lock in a turn: a fraction of a heartbeat interval. */
const BUSY_WAIT_MS = 50;
/** Longest wait for a lock while an incarnation is saved. It blocks the loop, which is allowed. */
const BUSY_INSIST_MS = 60_000;

/** The end of the archive, as far as this database knows it. */
type ArchiveEnd = Pick<ArchivedAt, 'file' | 'end' | 'indexEnd'>;

export class SqliteStore implements Store, FrontierStore {
  readonly tombstones: TombstoneTable;
  readonly samples: SampleTable;
  /** Null: this crawl is not shared with other networks. */
  readonly networks: NetworkUrls | null;
  readonly decide: UrlTable['decide'];
  readonly requestAgainAs: UrlTable['askAgain'];
  readonly redirectsTo: UrlTable['redirectsTo'];
  readonly #db: Connection;
  readonly #durability: Durability;
  readonly #hosts: HostTable;
  readonly #urls: UrlTable;
  readonly #rows: RowTable;
  readonly #outbox: OutboxTable;
  readonly #s: ReturnType<typeof statements>;
  #n: number;
  #storedN: number;
  /** The archive end that this turn has reached; null: unchanged. */
  #archived: ArchiveEnd | null = null;
  /** Whether commits sync the log (`synchronous = FULL`). */
  #isFull = false;
  #abandoned = false;

  constructor(db: Connection, options: StoreOptions) {
    this.#db = db;
    this.#durability = options.durability;
    this.#s = statements(db);
    this.#n = Number(this.#s.meta.get('n') ?? 0);
    this.#storedN = this.#n;
    this.#hosts = new HostTable(db);
    const numbers = { next: () => ++this.#n, last: () => this.#n };
    const ids = new UrlIds(db);
    this.#rows = new RowTable(db, this.#hosts, numbers, ids, options);
    this.#urls = new UrlTable(db, this.#hosts, numbers, ids, this.#rows);
    this.networks = this.#rows.networks;
    this.decide = (...verdict) => this.#urls.decide(...verdict);
    this.requestAgainAs = (...way) => this.#urls.askAgain(...way);
    this.redirectsTo = (...url) => this.#urls.redirectsTo(...url);
    this.#outbox = new OutboxTable(db);
    this.tombstones = new TombstoneTable(db);
    this.samples = new SampleTable(db);
    saveConfigDelays(db, options);
    if (options.durability === 'process') db.pragma('synchronous = OFF');
    db.pragma(`busy_timeout = ${BUSY_WAIT_MS}`);
  }

  // ---- transactions

  /** False if another program holds the write lock: no transaction has begun; try again later. */
  begin(durable = false): boolean {
    if (this.#db.inTransaction) return true;
    // SQLite does not allow this change within the transaction.
    this.#setFull(durable);
    return this.#unlessBusy(() => this.#db.exec('BEGIN IMMEDIATE'));
  }

  /** Ends the turn. With `durable`, all commits are on disk; false: not yet, the file is locked. */
  commit(durable: boolean): boolean {
    this.#rows.turnEnded();
    const isSynced = this.#isFull && this.#db.inTransaction;
    if (this.#db.inTransaction) {
      this.#hosts.flush();
      if (this.#n !== this.#storedN) this.#s.saveMeta.run('n', this.#n);
      this.#storedN = this.#n;
      if (this.#archived) this.#s.saveMeta.run('archive', JSON.stringify(this.#archived));
      this.#archived = null;
      if (isSynced) this.#sync();
      else this.#db.exec('COMMIT');
    }
    if (!durable || isSynced || this.#durability === 'process') return true;
    this.#setFull(true);
    return this.#unlessBusy(() => this.#sync());
  }

  /** Commits with `synchronous = FULL`. SQLite syncs the log only if something was written. */
  #sync(): void {
    this.#s.touch.run();
    if (this.#db.inTransaction) this.#db.exec('COMMIT');
  }

  #setFull(isFull: boolean): void {
    if (isFull === this.#isFull || this.#durability === 'process') return;
    this.#db.pragma(`synchronous = ${isFull ? 'FULL' : 'NORMAL'}`);
    this.#isFull = isFull;
  }

  #unlessBusy(act: () => void): boolean {
    try {
      act();
      return true;
    } catch (error) {
      if (storageFailureOf(error, '')?.code === 'busy') return false;
      throw error;
    }
  }

  /** Rolls back a failed turn; the store writes nothing after this. Never throws. */
  abandon(): void {
    this.#abandoned = true;
    this.#hosts.forget();
    try {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
    } catch {
      // SQLite rolls back itself after a serious error, at the latest when the file is next opened.
    }
  }

  /** An open turn has failed half-way and is rolled back. */
  close(): void {
    if (this.#db.inTransaction) this.abandon();
    if (!this.#abandoned) this.commit(true);
    this.#db.close();
  }

  // ---- identity

  incarnation(): Incarnation {
    return Number(this.#s.meta.get('incarnation') ?? 0);
  }

  saveIncarnation(inc: Incarnation): void {
    const inTurn = this.#db.inTransaction;
    this.#db.pragma(`busy_timeout = ${BUSY_INSIST_MS}`);
    try {
      this.#s.saveMeta.run('incarnation', inc);
      if (!this.commit(true) || (inTurn && !this.begin())) {
        throw new Error('another program keeps the state file locked');
      }
    } finally {
      this.#db.pragma(`busy_timeout = ${BUSY_WAIT_MS}`);
    }
  }

  counter(): number {
    return this.#n;
  }

  raiseCounter(atLeast: number): void {
    this.#n = Math.max(this.#n + 1, atLeast);
  }

  // ---- the archive

  /** The recorded end of the archive; null: none was ever recorded. */
  archiveEnd(): ArchiveEnd | null {
    const stored = this.#s.meta.get('archive');
    return typeof stored === 'string' ? (JSON.parse(stored) as ArchiveEnd) : null;
  }

  /** Records the end of the archive with the turn, whatever the outcome of the page. */
  noteArchived({ file, end, indexEnd }: ArchiveEnd): void {
    this.#archived = { file, end, indexEnd };
  }

  /** Requeues the pages whose archive records are lost. Needs an open transaction. */
  reopenPages(file: string, from: number): number {
    return this.#urls.reopen(file, from);
  }

  // ---- known URLs

  enqueue(host: Host, item: UrlItem, skip: SkipReason | null): Insertion {
    return this.#urls.insert(host, item, skip) ? 'new' : 'known';
  }

  owned(): { hosts: number; hostsWithQueue: number; queued: number; pages: number } {
    return this.#hosts.owned();
  }

  queuedOf(host: Host): number {
    return this.#hosts.find(host)?.queued ?? 0;
  }

  hasUrlFor(host: Host): boolean {
    const row = this.#hosts.find(host);
    return typeof (row && this.#urls.nextAt(row.number)) === 'number';
  }

  hosts(): Host[] {
    return this.hostsAfter(0, -1).map(({ host }) => host);
  }

  hostsAfter(number: number, max: number): { number: number; host: Host }[] {
    return this.#hosts.namesAfter(number, max);
  }

  hostsNamed(pattern: string): number {
    return this.#hosts.named(pattern);
  }

  lastHost(): number {
    return this.#hosts.last();
  }

  queuedFrom(number: number, max: number): QueuedHost[] {
    return this.#hosts.queuedFrom(number, max);
  }

  settle(host: Host, url: string): void {
    this.#urls.settle(host, url);
  }

  unsettled(max: number): { host: Host; url: string }[] {
    return this.#urls.unsettled(max);
  }

  failUrl(host: Host, item: UrlItem, error: string, now: number): void {
    this.#urls.fail(host, item, error, now);
  }

  // ---- rows for copies, and copies

  lastNumber(host: Host): number {
    return this.#hosts.find(host)?.last ?? 0;
  }

  hasChangedHosts(): boolean {
    return this.#rows.hasChanged;
  }

  takeChangedHosts(): Iterable<Host> {
    return this.#rows.takeChanged();
  }

  rowEvents(...args: Parameters<Store['rowEvents']>) {
    return this.#rows.events(...args);
  }

  trimRowEvents(host: Host, upTo: number): void {
    this.#rows.trim(host, upTo);
  }

  applyRows(
    from: AgentId,
    item: RowsItem,
    owned: boolean,
    now: number,
  ): { mark: number; changed: boolean } {
    return this.#rows.apply(from, item, owned, now);
  }

  backoffUntil(host: Host): number {
    return this.#hosts.find(host)?.notBefore ?? 0;
  }

  delayOf(host: Host): number {
    return this.#hosts.find(host)?.delayMs ?? 0;
  }

  countsOf(host: Host, now: number): HostCounts {
    const row = this.#hosts.find(host);
    if (!row) return { busy: 0, stale: 0 };
    const failures = this.#hosts.failures(row, now);
    return { busy: row.busy, stale: row.stale, ...(failures && { failures }) };
  }

  markOf(host: Host, sender: AgentId): number {
    return this.#rows.mark(host, sender);
  }

  forgetMarksAbove(sender: AgentId, n: number): Host[] {
    const hosts = this.#rows.forgetMarksAbove(sender, n);
    if (hosts.length > 0) this.#raiseGeneration();
    return hosts;
  }

  #raiseGeneration(): void {
    this.#s.saveMeta.run('generation', this.generation() + 1);
  }

  generation(): number {
    return Number(this.#s.meta.get('generation') ?? 0);
  }

  deleteHost(host: Host): void {
    this.#raiseGeneration();
    this.#rows.deleteHost(host);
  }

  deleteSome(max: number): boolean {
    this.#rows.deleted.deleteSome(max);
    return this.#rows.deleted.areLeft;
  }

  setOwned(host: Host, owned: boolean): void {
    const row = this.#hosts.find(host);
    if (!row) return;
    const isTaken = owned && row.owned === 0;
    this.#hosts.setOwned(row, owned);
    if (isTaken) this.networks?.taken(row);
  }

  // ---- outbox

  addToOutbox(host: Host, owner: AgentId, item: UrlItem): number {
    return this.#outbox.add(host, owner, item);
  }

  outboxCount(): number {
    return this.#outbox.count;
  }

  lastOutboxId(): number {
    return this.#outbox.last();
  }

  outboxFirst(): number | null {
    return this.#outbox.first();
  }

  outboxOf(owner: AgentId, max: number, upTo = Number.MAX_SAFE_INTEGER): OutboxEntry[] {
    return this.#outbox.of(owner, max, upTo);
  }

  outboxAfter(after: number, max: number): PlacedEntry[] {
    return this.#outbox.after(after, max);
  }

  rerouteOutbox(id: number, owner: AgentId): void {
    this.#outbox.reroute(id, owner);
  }

  rerouteHost(host: Host, from: AgentId, to: AgentId): void {
    this.#outbox.rerouteHost(host, from, to);
  }

  removeFromOutbox(ids: readonly number[]): void {
    this.#outbox.remove(ids);
  }

  removeTaken(sent: readonly OutboxEntry[]): number[] {
    return this.#outbox.removeTaken(sent);
  }

  round(): number {
    return this.#rows.refresh.round;
  }

  beginRound(round: number): void {
    this.#rows.refresh.begin(round);
  }

  requeueKnown(host: Host, max: number): { queued: number; over: boolean } {
    return this.#rows.refresh.requeueKnown(host, max);
  }

  hasShutUrls(): boolean {
    return this.#rows.shut.some;
  }

  shutUrls(host: Host, after: number, max: number): ShutUrl[] {
    return this.#rows.shut.of(host, after, max);
  }

  reopenUrl(host: Host, url: string): void {
    this.#rows.shut.reopen(host, url);
  }

  event(at: number, kind: EventKind, detail: EventDetail): void {
    this.#s.event.run(at, kind, JSON.stringify(detail));
  }

  // ---- frontier

  host(host: Host): HostRecord {
    return this.#hosts.record(host);
  }

  saveHost(record: HostRecord, ip: string | null): void {
    const row = this.#hosts.numbered(record.number);
    const isLonger = record.notBefore > row.notBefore;
    this.#hosts.save(record, ip);
    if (isLonger) this.#rows.heldBack(row);
  }

  pagesDone(hostNumber: number): number {
    return this.#hosts.numbered(hostNumber).pagesDone;
  }

  nextUrl(hostNumber: number, now: number, at: 'last' | number = 0) {
    return this.#urls.next(hostNumber, now, at);
  }

  goodForm(hostNumber: number, url: Identity) {
    return this.#urls.goodForm(hostNumber, url);
  }

  nextUrlAt(hostNumber: number): number | 'networks' | null {
    return this.#urls.nextAt(hostNumber);
  }

  recordPage(hostNumber: number, page: PageRecord): void {
    this.#urls.recordPage(hostNumber, page);
  }

  saveLinks(source: string, targets: readonly string[], wasRead = false): void {
    if (targets.length === 0 && !wasRead) this.#s.dropLinks.run(source);
    else this.#s.saveLinks.run(source, JSON.stringify(targets));
  }

  requeue(hostNumber: number, url: string, retry: Retry): void {
    this.#urls.requeue(hostNumber, url, retry);
  }

  moveTo(hostNumber: number, url: string, hop: FormHop): void {
    this.#urls.moveTo(hostNumber, url, hop);
  }

  skip(hostNumber: number, url: string, reason: SkipReason): void {
    this.#urls.skip(hostNumber, url, reason);
  }

  endQueued(...args: Parameters<FrontierStore['endQueued']>) {
    return this.#urls.endQueued(...args);
  }

  countOutOfScope(hostNumber: number, links: number): void {
    this.#hosts.addOutOfScope(this.#hosts.numbered(hostNumber), links);
  }

  robots(hostNumber: number, origin: string): RobotsRecord | null {
    return this.#rows.robots.find(hostNumber, origin);
  }

  saveRobots(hostNumber: number, origin: string, record: RobotsRecord): void {
    this.#rows.robots.save(this.#hosts.numbered(hostNumber), origin, record);
  }

  crawlDelay(hostNumber: number): number {
    return this.#rows.robots.crawlDelay(hostNumber);
  }
}

function statements(db: Connection) {
  return {
    meta: db.prepare<[string], number | string>('SELECT value FROM meta WHERE key = ?').pluck(),
    saveMeta: db.prepare<[string, number | string]>(
      'INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)',
    ),
    touch: db.prepare<[]>(
      `INSERT INTO meta VALUES ('syncs', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1`,
    ),
    event: db.prepare<[number, string, string]>(
      'INSERT INTO event_rows (at, kind, detail) VALUES (?, ?, ?)',
    ),
    saveLinks: db.prepare<[string, string]>(
      'INSERT OR REPLACE INTO page_links (source, targets) VALUES (?, ?)',
    ),
    dropLinks: db.prepare<[string]>('DELETE FROM page_links WHERE source = ?'),
  };
}
