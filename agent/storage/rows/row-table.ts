// The rows of hosts as a stream of numbered events, and copies of other agents' streams. Each URL
// has two events, found and done, whose numbers never change; the events above a mark are sent.
// `event-tails.ts` finds the events above a number. Received events are applied in order, under
// numbers of this database, together with the mark of their sender.

import type {
  AgentId,
  Host,
  PageRow,
  RowEvent,
  RowsItem,
  TerminalState,
} from '../../core/protocol/messages.ts';
import { hasOriginOf, identityOf } from '../../url/url-key.ts';
import type { Connection } from '../encoding/connection.ts';
import { InternedStrings } from '../encoding/interned-strings.ts';
import { plainPage } from '../encoding/page-columns.ts';
import { referrerOf, type UrlIds } from '../encoding/url-ids.ts';
import type { HostRow, HostTable } from '../tables/host-table.ts';
import type { Note, Numbers } from '../tables/numbers.ts';
import { PageTable } from '../tables/page-table.ts';
import { RobotsTable } from '../tables/robots-table.ts';
import { Amendments } from './amendments.ts';
import { DeletedHosts } from './deleted-hosts.ts';
import type { Mention } from './event-backlog.ts';
import { EventTails, type TailBounds } from './event-tails.ts';
import { MarkTable } from './mark-table.ts';
import { NetworkUrls } from './network-urls.ts';
import { RefreshTable } from './refresh-table.ts';
import { ShutUrls } from './shut-urls.ts';

const STATES: readonly TerminalState[] = ['response', 'failed', 'skipped'];
const SKIPPED = 3;

interface Row {
  readonly id: number;
  readonly key: string;
  readonly state: number;
  readonly depth: number;
  readonly found: number;
  readonly done: number;
  readonly round: number;
  readonly again: number;
  readonly attempts: number;
  readonly fetchUrl: string | null;
  readonly referrer: string | null;
  readonly sitemap: number;
  readonly hops: number;
}

type FoundRow = Pick<
  Row,
  'key' | 'depth' | 'round' | 'again' | 'attempts' | 'fetchUrl' | 'referrer' | 'sitemap'
>;
type Ended = Pick<Row, 'key' | 'state' | 'done' | 'round' | 'attempts'> & {
  readonly reason: string | null;
};
type Progress = Pick<Row, 'id' | 'state' | 'done' | 'round' | 'again'>;

export class RowTable {
  readonly robots: RobotsTable;
  readonly pages: PageTable;
  readonly deleted: DeletedHosts;
  readonly refresh: RefreshTable;
  readonly shut: ShutUrls;
  readonly amendments: Amendments;
  /** Null: this crawl is not shared with other networks. */
  readonly networks: NetworkUrls | null;
  readonly #hosts: HostTable;
  readonly #numbers: Numbers;
  readonly #ids: UrlIds;
  readonly #s: ReturnType<typeof statements>;
  readonly #tails: EventTails;
  readonly #marks: MarkTable;
  /** Hosts with new numbers, filled by `note` and `heldBack`, emptied each turn. */
  #changed = new Set<Host>();

  constructor(
    db: Connection,
    hosts: HostTable,
    numbers: Numbers,
    ids: UrlIds,
    {
      tails,
      isShared = false,
      linkRules = '',
    }: {
      readonly tails?: TailBounds | undefined;
      readonly isShared?: boolean;
      readonly linkRules?: string;
    } = {},
  ) {
    const strings = new InternedStrings(db);
    this.#ids = ids;
    this.pages = new PageTable(db, 'page_records', strings);
    const note: Note = (...event) => this.note(...event);
    this.robots = new RobotsTable(db, numbers, (row, origin, n) =>
      this.note(row, origin, n, 'robots'),
    );
    this.networks = isShared ? new NetworkUrls(db, hosts, ids) : null;
    const { pages, robots, networks } = this;
    const tables = { pages, robots, networks, strings };
    this.refresh = new RefreshTable(db, hosts, numbers, note, tables, linkRules);
    this.shut = new ShutUrls(db, hosts, ids, this.refresh);
    this.amendments = new Amendments(db, numbers, note);
    this.#hosts = hosts;
    this.#numbers = numbers;
    this.deleted = new DeletedHosts(db);
    this.#s = statements(db);
    this.#marks = new MarkTable(db);
    this.#tails = new EventTails(db, (host) => this.robots.numbers(host), tails);
  }

  // ---- the stream out

  /**
   * To be called when number `n` was assigned to an event of the host.
   *
   * @param at - the id of the URL, or the origin of a robots.txt
   */
  note(
    row: HostRow,
    at: number | string,
    n: number,
    kind: RowEvent['kind'],
    event?: RowEvent,
  ): void {
    this.#tails.rising(row, { n, at, kind, event });
    this.#hosts.raiseLast(row, n);
    this.#changed.add(row.host);
  }

  /** As `note`, for a URL that was just inserted: its event need not be read from the rows. */
  noteFound(host: HostRow, id: number, n: number, row: FoundRow): void {
    this.note(host, id, n, 'found', this.#tails.hasRoom ? foundEvent(row, n) : undefined);
  }

  /**
   * To be called when the host's back-off grew. It assigns a number without an event, so that the
   * copies get a message, which carries the back-off, and the next owner knows it.
   */
  heldBack(row: HostRow): void {
    this.#tails.rising(row, null);
    this.#hosts.raiseLast(row, this.#numbers.next());
    this.#changed.add(row.host);
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  takeChanged(): Iterable<Host> {
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Set();
    return changed;
  }

  turnEnded(): void {
    this.#tails.turnEnded();
  }

  /**
   * The events above `after`. While the host's rows are being read, there are no events and `to` is
   * `after`; call it again in the next turn.
   *
   * @param arrivesBy - the latest time at which the message can arrive, in milliseconds
   */
  events(
    host: Host,
    after: number,
    max: number,
    arrivesBy: number,
  ): { events: RowEvent[]; to: number } {
    const row = this.#hosts.find(host);
    if (!row) return { events: [], to: after };
    const read = this.#tails.above(row, after, max, arrivesBy);
    if (!read) return { events: [], to: after };
    const { mentions, isAll } = read;
    const events = mentions.flatMap((mention) => this.#eventOf(row, mention, arrivesBy) ?? []);
    // Some assigned numbers may have no event any more: an abandoned look-up for robots.txt
    // removes one. A copy with all remaining events has reached the last number.
    return { events, to: isAll ? Math.max(row.last, after) : mentions.at(-1)!.n };
  }

  /** Null if a later event replaces this one. */
  #eventOf(host: HostRow, { n, at, kind, event }: Mention, arrivesBy: number): RowEvent | null {
    if (event) return event;
    if (kind === 'robots') return this.robots.event(host.number, String(at), n, arrivesBy);
    if (kind === 'done') return this.#doneEvent(Number(at), n);
    const row = this.#s.row.get(Number(at))!;
    if (kind === 'found') return foundEvent(row, n);
    // The URL was requeued later, under a higher number.
    if (n !== row.again) return null;
    const { key, round, attempts, depth, hops, fetchUrl } = row;
    const former = this.refresh.told(row);
    const sitemap = row.sitemap > 0 && { sitemap: true };
    const moved = hops > 0 && { hops, ...(fetchUrl !== null && { fetchUrl }) };
    return {
      kind,
      n,
      key,
      round,
      attempts,
      depth,
      ...(former && { former }),
      ...sitemap,
      ...moved,
    };
  }

  /** Null if the URL was settled later, under a higher number. */
  #doneEvent(id: number, n: number): RowEvent | null {
    const { key, done, round, attempts, reason, ...row } = this.#s.ended.get(id)!;
    if (n !== done) return null;
    const state = STATES[row.state - 1]!;
    const page = state === 'skipped' ? undefined : this.pages.read(id);
    return {
      ...{ kind: 'done', n, key, state, attempts },
      ...(round > 0 && { round }),
      ...(reason !== null && { reason }),
      ...(page && { page: this.refresh.sent(page, round) }),
    };
  }

  trim(host: Host, upTo: number): void {
    const row = this.#hosts.find(host);
    if (row) this.#tails.trim(row, upTo);
  }

  // ---- copies of others' streams

  apply(
    from: AgentId,
    item: RowsItem,
    owned: boolean,
    now: number,
  ): { mark: number; changed: boolean } {
    const row = this.#hosts.row(item.host, owned);
    const known = this.#marks.of(row.number, from);
    const { mark } = known;
    if (item.version > known.version) {
      this.#hosts.mergeReport(row, item, owned, now);
    }
    if (item.from > mark || item.to <= mark) return { mark, changed: false };
    let changed = false;
    for (const event of item.events) {
      if (event.n <= mark) continue;
      if (this.#apply(row, event, now)) changed = true;
    }
    this.#marks.save(row.number, from, { mark: item.to, version: item.version });
    return { mark: item.to, changed };
  }

  /** @returns whether a URL is new or its state has advanced */
  #apply(row: HostRow, event: RowEvent, now: number): boolean {
    switch (event.kind) {
      case 'found':
        return this.#found(row, event);
      case 'again':
        return this.#requeued(row, event);
      case 'done':
        return this.#done(row, event);
      case 'robots':
        this.robots.take(row, event, now);
        return false;
    }
  }

  #found(host: HostRow, event: Extract<RowEvent, { kind: 'found' }>): boolean {
    const { key, depth, attempts, round = 0, sitemap = false } = event;
    const place = this.#ids.find(host.number, key);
    if (place >= 0) {
      this.#s.merge.run({ id: place, depth, attempts, round });
      return this.#requeued(host, { key, round, attempts, sitemap });
    }
    const fetchUrl = event.fetchUrl ?? null;
    if (fetchUrl !== null && !hasOriginOf(identityOf(host.host, key), fetchUrl)) return false;
    const id = -1 - place;
    const n = this.#numbers.next();
    const referrer = this.#ids.referrer(host.number, event.referrer ?? null);
    const declared = sitemap ? 1 : 0;
    const notBefore = this.networks?.placeOf(host, key) ?? 0;
    const values = [fetchUrl, referrer, round, declared, notBefore] as const;
    this.#s.insert.run(id, key, depth, n, attempts, ...values);
    this.#ids.remember(key, id);
    if (round < this.refresh.round) this.#hosts.fallBehind(host, round);
    this.#hosts.addQueued(host, 1);
    this.note(host, id, n, 'found');
    return true;
  }

  /** An event of a later round replaces all of an earlier round. */
  #requeued(
    host: HostRow,
    event: Omit<Extract<RowEvent, { kind: 'again' }>, 'kind' | 'n'>,
  ): boolean {
    const { key, round, attempts, depth, former, fetchUrl = null, hops = 0 } = event;
    if (fetchUrl !== null && !hasOriginOf(identityOf(host.host, key), fetchUrl)) return false;
    const row = this.#row(host, key);
    if (!row) return false;
    if (event.sitemap) this.amendments.declare(host, row.id);
    // The shortest path counts in every round.
    if (depth !== undefined) this.#s.merge.run({ id: row.id, depth, attempts: 0, round });
    if (round < row.round) return false;
    const isLater = round > row.round;
    if (isLater) this.refresh.move(host, row, round, attempts, former);
    const mine = isLater ? 0 : row.hops;
    // After equally many redirects, all agents choose the same form.
    const isFirst = hops > 0 && hops === mine && (fetchUrl ?? '') < (row.fetchUrl ?? '');
    if (hops > mine || isFirst) this.amendments.moveTo(host, row.id, fetchUrl, hops);
    const merged = { id: row.id, depth: depth ?? row.depth, attempts, round };
    if (hops >= mine) this.#s.merge.run(merged);
    return isLater;
  }

  #row(host: HostRow, key: string): Row | undefined {
    const id = this.#ids.find(host.number, key);
    return id < 0 ? undefined : this.#s.row.get(id);
  }

  /** A terminal state replaces queued; a fixed order decides between two terminal states. */
  #done(host: HostRow, event: Extract<RowEvent, { kind: 'done' }>): boolean {
    const { key, attempts, round = 0 } = event;
    const id = this.#ids.find(host.number, key);
    const row = id < 0 ? undefined : this.#s.progress.get(id);
    if (!row || round !== row.round) return false;
    const state = STATES.indexOf(event.state) + 1;
    // Ignores a page without a record, so it is fetched here.
    if (state !== SKIPPED && !event.page) return false;
    const settled = row.done > 0;
    if (row.state > 0 && !this.#isBefore(row, state, event.page)) {
      // This agent fetched the page too, but has not settled it. The sender has settled its own
      // fetch with all links, so the page counts as settled.
      if (settled) return false;
      const n = this.#numbers.next();
      this.#s.settle.run(n, id);
      this.note(host, id, n, 'done');
      this.networks?.settled(host, id);
      return true;
    }
    const n = settled ? row.done : this.#numbers.next();
    this.#s.finish.run(state, attempts, event.reason ?? null, n, id);
    this.networks?.settled(host, id);
    this.shut.skipped(event.reason);
    if (row.state === 0) this.#hosts.addQueued(host, -1);
    if (row.again > 0 && state !== SKIPPED && event.page) this.refresh.forget(id, event.page);
    if ((row.state === 0 || row.state === SKIPPED) && state !== SKIPPED) this.#hosts.addPage(host);
    if (event.page && state !== SKIPPED) this.pages.save(id, event.page);
    if (!settled) this.note(host, id, n, 'done');
    return true;
  }

  /**
   * Whether the received terminal state wins: response over failed over skipped, then the earlier
   * fetch, then the order of the records' texts.
   */
  #isBefore(row: Progress, state: number, page: PageRow | undefined): boolean {
    if (state !== row.state) return state < row.state;
    const mine = this.pages.read(row.id);
    if (!page || !mine) return false;
    if (page.fetchedAt !== mine.fetchedAt) return page.fetchedAt < mine.fetchedAt;
    return contentOf(page) < contentOf(mine);
  }

  mark(host: Host, sender: AgentId): number {
    const row = this.#hosts.find(host);
    return row ? this.#marks.of(row.number, sender).mark : 0;
  }

  forgetMarksAbove(sender: AgentId, n: number): Host[] {
    return this.#marks.forgetAbove(sender, n);
  }

  deleteHost(host: Host): void {
    const row = this.#hosts.find(host);
    if (!row) return;
    this.#tails.forget(row.number);
    this.#ids.forget();
    this.#marks.deleteHost(row.number);
    this.#hosts.delete(row);
    this.deleted.add(row.number);
  }
}

/** The attempts of a requeued URL belong to a later round and are in its *again* event. */
function foundEvent(row: FoundRow, n: number): RowEvent {
  const { key, depth, round } = row;
  const isFirst = row.again === 0;
  return {
    ...{ kind: 'found', n, key, depth, attempts: isFirst ? row.attempts : 0 },
    ...(row.fetchUrl !== null && { fetchUrl: row.fetchUrl }),
    ...(row.referrer !== null && { referrer: row.referrer }),
    ...(isFirst && round > 0 && { round }),
    ...(row.sitemap > 0 && { sitemap: true }),
  };
}

/** The same text for the same page, whether its record came from a file or a message. */
function contentOf(page: PageRow): string {
  return JSON.stringify(plainPage(page));
}

function statements(db: Connection) {
  return {
    row: db.prepare<[number], Row>(
      `SELECT id, key, state, depth, found, done, round, again, attempts, fetch_url AS fetchUrl,
         ${referrerOf('u')} AS referrer, sitemap, hops
       FROM urls u WHERE id = ?`,
    ),
    insert: db.prepare<
      [
        number,
        string,
        number,
        number,
        number,
        string | null,
        string | number | null,
        number,
        number,
        number,
      ]
    >(
      `INSERT INTO urls
        (id, key, state, depth, found, attempts, fetch_url, referrer, round, sitemap, not_before)
       VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    merge: db.prepare<[{ id: number; depth: number; attempts: number; round: number }]>(
      `UPDATE urls SET depth = min(depth, $depth),
         attempts = iif(round = $round, max(attempts, $attempts), attempts)
       WHERE id = $id
         AND (depth > $depth OR (round = $round AND attempts < $attempts))`,
    ),
    ended: db.prepare<[number], Ended>(
      'SELECT key, state, done, round, attempts, reason FROM urls WHERE id = ?',
    ),
    progress: db.prepare<[number], Progress>(
      'SELECT id, state, done, round, again FROM urls WHERE id = ?',
    ),
    finish: db.prepare<[number, number, string | null, number, number]>(
      `UPDATE urls SET state = ?, attempts = max(attempts, ?), reason = ?, not_before = 0, done = ?
       WHERE id = ?`,
    ),
    settle: db.prepare<[number, number]>('UPDATE urls SET done = ? WHERE id = ? AND done = 0'),
  };
}
