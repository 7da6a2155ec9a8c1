// Finds the events of a host above a number. Events since the last acknowledgement
// are kept in memory, in one tail for each host, with a limit over all hosts. For a copy that is
// further behind, the rows of the host are read in slices: into a tail if they give few events,
// else into a backlog (`event-backlog.ts`), which has its own limit. A host without a tail has no
// events above its last number, so it needs no entry here.

import type { Connection } from '../encoding/connection.ts';
import { idRangeOf } from '../encoding/url-ids.ts';
import type { HostRow } from '../tables/host-table.ts';
import { EventBacklog, type Mention } from './event-backlog.ts';

export interface TailBounds {
  /**
   * Events in the tails of all hosts. Above this limit all tails are dropped, and read again when a
   * copy needs them. A backlog that grows by as many events without a read is dropped too.
   */
  readonly atHand: number;
  /** Rows read for copies in one turn. */
  readonly rowsPerTurn: number;
  /** A host with more events above the marks of its copies has a backlog. */
  readonly tailEvents: number;
  /** While all backlogs together have as many events, no further host is read. */
  readonly backlogEvents: number;
  /** A backlog that no copy has read for this time may be dropped for another one. */
  readonly unusedMs: number;
}

/** Events in the tails of all hosts up to which whole events are kept, which take 300 bytes each. */
const WHOLE_MAX = 20_000;

export const TAIL_BOUNDS: TailBounds = {
  // Some 40 MB.
  atHand: 400_000,
  // About 10 ms.
  rowsPerTurn: 4000,
  tailEvents: 8000,
  // 96 MB; the host that is read last may exceed it.
  backlogEvents: 8_000_000,
  // A copy reads with each message, and again when the acknowledgement is late.
  unusedMs: 15_000,
};

type HostNumbers = Pick<HostRow, 'number' | 'last'>;
type RobotsNumbers = (hostNumber: number) => readonly { origin: string; number: number }[];

/** All events of a host above `since`, in order. Those before index `start` are acknowledged. */
interface Tail {
  since: number;
  start: number;
  mentions: Mention[];
}

interface NumbersOfUrl {
  readonly id: number;
  readonly found: number;
  readonly again: number;
  readonly done: number;
}

export class EventTails {
  readonly #bounds: TailBounds;
  readonly #robots: RobotsNumbers;
  readonly #read: ReturnType<typeof statement>;
  readonly #tails = new Map<number, Tail>();
  readonly #backlogs = new Map<number, EventBacklog>();
  #atHand = 0;
  #rowsLeft: number;

  constructor(db: Connection, robots: RobotsNumbers, bounds = TAIL_BOUNDS) {
    this.#bounds = bounds;
    this.#robots = robots;
    this.#read = statement(db);
    this.#rowsLeft = bounds.rowsPerTurn;
  }

  turnEnded(): void {
    this.#rowsLeft = this.#bounds.rowsPerTurn;
  }

  /** Whether the next event may be kept as a whole. */
  get hasRoom(): boolean {
    return this.#atHand < WHOLE_MAX;
  }

  /**
   * To be called before the host's last number rises, by an event or without one; `row.last` must
   * still be the previous number.
   */
  rising(row: HostNumbers, mention: Mention | null): void {
    const backlog = this.#backlogs.get(row.number);
    if (!backlog) {
      const tail = this.#tails.get(row.number) ?? this.#newTail(row);
      if (!mention) return;
      tail.mentions.push(mention);
      if (++this.#atHand > this.#bounds.atHand) this.#drop();
    } else if (mention) {
      backlog.append(mention);
      if (backlog.unasked > this.#bounds.atHand) this.#backlogs.delete(row.number);
    }
  }

  #newTail({ number, last }: HostNumbers): Tail {
    const tail: Tail = { since: last, start: 0, mentions: [] };
    this.#tails.set(number, tail);
    return tail;
  }

  #drop(): void {
    this.#tails.clear();
    this.#atHand = 0;
  }

  /**
   * The first events above `after`, and whether these are all; null while they are being read.
   *
   * @param at - a time that never decreases from call to call, in milliseconds
   */
  above(
    row: HostNumbers,
    after: number,
    max: number,
    at: number,
  ): { mentions: Mention[]; isAll: boolean } | null {
    if (!this.#reaches(row, after) && !this.#readSlice(row, after, at)) return null;
    const backlog = this.#backlogs.get(row.number);
    if (backlog) {
      backlog.asked(at);
      const mentions = backlog.above(after, max + 1);
      const isAll = mentions.length <= max;
      return { mentions: isAll ? mentions : mentions.slice(0, max), isAll };
    }
    const all = this.#tails.get(row.number)?.mentions ?? [];
    const start = firstAbove(all, after);
    return { mentions: all.slice(start, start + max), isAll: start + max >= all.length };
  }

  #reaches({ number, last }: HostNumbers, after: number): boolean {
    const backlog = this.#backlogs.get(number);
    if (backlog) return backlog.isWhole && backlog.since <= after;
    return (this.#tails.get(number)?.since ?? last) <= after;
  }

  /** Reads the next slice; true once all events above `after` are in memory. */
  #readSlice(row: HostNumbers, after: number, at: number): boolean {
    const backlog = this.#backlogFor(row, after, at);
    if (!backlog || this.#rowsLeft <= 0) return false;
    const host = row.number;
    const rows = this.#read.all(backlog.cursor, idRangeOf(host).last, this.#rowsLeft);
    const isLast = rows.length < this.#rowsLeft;
    this.#rowsLeft -= rows.length;
    backlog.cursor = rows.at(-1)?.id ?? backlog.cursor;
    const isNew = (n: number) => n > backlog.since && n <= backlog.upTo;
    const mentions: Mention[] = [];
    for (const { id, found, again, done } of rows) {
      if (isNew(found)) mentions.push({ n: found, at: id, kind: 'found' });
      if (isNew(again)) mentions.push({ n: again, at: id, kind: 'again' });
      if (isNew(done)) mentions.push({ n: done, at: id, kind: 'done' });
    }
    if (isLast) {
      for (const { origin, number } of this.#robots(host)) {
        if (isNew(number)) mentions.push({ n: number, at: origin, kind: 'robots' });
      }
    }
    backlog.add(mentions);
    backlog.isWhole = isLast;
    if (isLast) this.#shrink(host, backlog);
    return isLast;
  }

  /** The backlog of the host, or a new one; null while there is no room. */
  #backlogFor(row: HostNumbers, after: number, at: number): EventBacklog | null {
    const known = this.#backlogs.get(row.number);
    if (known && known.since <= after) {
      known.asked(at);
      return known;
    }
    this.#backlogs.delete(row.number);
    let events = 0;
    for (const [other, { askedAt, size }] of this.#backlogs) {
      if (at - askedAt > this.#bounds.unusedMs) this.#backlogs.delete(other);
      else events += size;
    }
    if (events >= this.#bounds.backlogEvents) return null;
    this.#forgetTail(row.number);
    const backlog = new EventBacklog(after, row.last, idRangeOf(row.number).first);
    backlog.asked(at);
    this.#backlogs.set(row.number, backlog);
    return backlog;
  }

  /** Turns a backlog with few events into a tail. */
  #shrink(host: number, backlog: EventBacklog): void {
    const { tailEvents } = this.#bounds;
    if (backlog.countAbove(backlog.since) > tailEvents) return;
    const mentions = backlog.above(backlog.since, tailEvents);
    this.#backlogs.delete(host);
    this.#tails.set(host, { since: backlog.since, start: 0, mentions });
    this.#atHand += mentions.length;
  }

  /** Forgets events up to `upTo`, which all copies have. */
  trim(row: HostNumbers, upTo: number): void {
    const backlog = this.#backlogs.get(row.number);
    if (backlog) {
      if (!backlog.isWhole || upTo <= backlog.since) return;
      backlog.trim(upTo);
      return this.#shrink(row.number, backlog);
    }
    const tail = this.#tails.get(row.number);
    if (!tail || tail.since >= upTo) return;
    if (upTo >= row.last) return this.#forgetTail(row.number);
    const keep = firstAbove(tail.mentions, upTo);
    this.#atHand -= keep - tail.start;
    tail.start = keep;
    tail.since = upTo;
    if (keep * 2 < tail.mentions.length) return;
    tail.mentions = tail.mentions.slice(keep);
    tail.start = 0;
  }

  forget(host: number): void {
    this.#forgetTail(host);
    this.#backlogs.delete(host);
  }

  #forgetTail(host: number): void {
    const tail = this.#tails.get(host);
    if (tail) this.#atHand -= tail.mentions.length - tail.start;
    this.#tails.delete(host);
  }
}

/** Index of the first mention numbered above `n`. */
function firstAbove(mentions: readonly Mention[], n: number): number {
  let low = 0;
  let high = mentions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (mentions[middle]!.n > n) high = middle;
    else low = middle + 1;
  }
  return low;
}

function statement(db: Connection) {
  return db.prepare<[number, number, number], NumbersOfUrl>(
    'SELECT id, found, again, done FROM urls WHERE id > ? AND id <= ? ORDER BY id LIMIT ?',
  );
}
