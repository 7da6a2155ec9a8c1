// The last robots.txt record of each origin: the response, or the progress of a look-up. The
// records have event numbers like URLs and are sent to copies, so the next owner of the host
// continues the look-up. Messages carry ages and waits instead of times, since clocks may differ.
// An abandoned look-up is not sent: the next owner tries once more.

import type { RowEvent } from '../../core/protocol/messages.ts';
import type { RobotsRecord } from '../../frontier/frontier-store.ts';
import type { Connection } from '../encoding/connection.ts';
import type { HostRow } from './host-table.ts';
import type { Numbers } from './numbers.ts';

export type RobotsEvent = Extract<RowEvent, { kind: 'robots' }>;

/** Receives each assigned number, for the copies at other agents. */
type NoteRobots = (row: HostRow, origin: string, n: number) => void;

export class RobotsTable {
  readonly #numbers: Numbers;
  readonly #note: NoteRobots;
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection, numbers: Numbers, note: NoteRobots) {
    this.#numbers = numbers;
    this.#note = note;
    this.#s = statements(db);
  }

  find(hostNumber: number, origin: string): RobotsRecord | null {
    const row = this.#s.find.get(hostNumber, origin);
    return row ? recordOf(row) : null;
  }

  save(row: HostRow, origin: string, record: RobotsRecord): void {
    const isSent = record.retryAt !== Infinity;
    const number = isSent ? this.#numbers.next() : 0;
    const { hop, crawlDelayMs = 0, failedSince = null, ...rest } = record;
    const { location = null, hops = 0 } = hop ?? {};
    const place = { host: row.number, origin, number };
    this.#s.save.run({ ...rest, location, hops, crawlDelayMs, failedSince, ...place });
    if (isSent) this.#note(row, origin, number);
  }

  /** Deletes the records of files that no attempt could get, so that a new round tries again. */
  forgetGivenUp(hostNumber: number): void {
    this.#s.forgetGivenUp.run(hostNumber);
  }

  /** The longest Crawl-delay in the host's files, in milliseconds; 0: none. */
  crawlDelay(hostNumber: number): number {
    return this.#s.crawlDelay.get(hostNumber) ?? 0;
  }

  /** Origins whose records are sent to copies, with their event numbers. */
  numbers(hostNumber: number): { origin: string; number: number }[] {
    return this.#s.numbers.all(hostNumber);
  }

  /**
   * Null if a later record has replaced the one with number `n`.
   *
   * @param at - the latest time at which the message can arrive. The age and the remaining wait
   *   refer to it, so no receiver considers the record younger than it is.
   */
  event(hostNumber: number, origin: string, n: number, at: number): RobotsEvent | null {
    const found = this.#s.numbered.get(hostNumber, origin, n);
    if (!found) return null;
    const record = recordOf(found);
    const { kind, body, reason, fetchedAt, attempts, failedSince, retryAt } = record;
    const { hop, crawlDelayMs } = record;
    return {
      ...{ kind: 'robots', n, origin, answer: kind, reason, ageMs: Math.max(0, at - fetchedAt) },
      ...(body !== null && { body: Buffer.from(body).toString('base64') }),
      ...hop,
      ...(attempts > 0 && { attempts }),
      ...(failedSince !== undefined && { failingMs: Math.max(0, at - failedSince) }),
      ...(kind === 'unreachable' && { waitMs: Math.max(0, retryAt - at) }),
      ...(crawlDelayMs !== undefined && { crawlDelayMs }),
    };
  }

  /** Saves another agent's record if it is younger than the stored one. */
  take(row: HostRow, event: RobotsEvent, now: number): void {
    const { origin, answer, reason, ageMs, body, location, hops = 0, crawlDelayMs } = event;
    const { failingMs } = event;
    const fetchedAt = now - ageMs;
    const known = this.find(row.number, origin);
    if (known && known.fetchedAt >= fetchedAt) return;
    this.save(row, origin, {
      ...{ kind: answer, fetchedAt, reason, attempts: event.attempts ?? 0 },
      body: body === undefined ? null : Buffer.from(body, 'base64'),
      retryAt: event.waitMs === undefined ? 0 : now + event.waitMs,
      ...(location !== undefined && { hop: { location, hops } }),
      ...(crawlDelayMs !== undefined && { crawlDelayMs }),
      ...(failingMs !== undefined && { failedSince: now - failingMs }),
    });
  }
}

interface StoredRobots
  extends Omit<RobotsRecord, 'hop' | 'retryAt' | 'crawlDelayMs' | 'failedSince'> {
  readonly failedSince: number | null;
  readonly retryAt: number | null;
  readonly location: string | null;
  readonly hops: number;
  readonly crawlDelayMs: number;
}

/**
 * A `retry_at` of NULL means Infinity: JSON turns Infinity into null, and SQLite stores NaN as
 * NULL.
 */
function recordOf(row: StoredRobots): RobotsRecord {
  const { location, hops, crawlDelayMs, failedSince, retryAt, ...rest } = row;
  return {
    ...rest,
    retryAt: retryAt ?? Infinity,
    ...(location !== null && { hop: { location, hops } }),
    ...(crawlDelayMs > 0 && { crawlDelayMs }),
    ...(failedSince !== null && { failedSince }),
  };
}

const RECORD = `kind, fetched_at AS fetchedAt, body, attempts, retry_at AS retryAt, reason,
  location, hops, crawl_delay_ms AS crawlDelayMs, failed_since AS failedSince`;

function statements(db: Connection) {
  return {
    find: db.prepare<[number, string], StoredRobots>(
      `SELECT ${RECORD} FROM robots WHERE host = ? AND origin = ?`,
    ),
    numbered: db.prepare<[number, string, number], StoredRobots>(
      `SELECT ${RECORD} FROM robots WHERE host = ? AND origin = ? AND number = ?`,
    ),
    numbers: db.prepare<[number], { origin: string; number: number }>(
      'SELECT origin, number FROM robots WHERE host = ? AND number > 0',
    ),
    forgetGivenUp: db.prepare<[number]>(
      `DELETE FROM robots
       WHERE host = ? AND kind = 'unreachable' AND ifnull(retry_at, 9e999) = 9e999`,
    ),
    crawlDelay: db
      .prepare<[number], number | null>('SELECT max(crawl_delay_ms) FROM robots WHERE host = ?')
      .pluck(),
    save: db.prepare<
      [
        Omit<StoredRobots, 'retryAt'> & {
          retryAt: number;
          host: number;
          origin: string;
          number: number;
        },
      ]
    >(
      `INSERT OR REPLACE INTO robots
        (host, origin, kind, fetched_at, body, attempts, retry_at, reason, number,
         location, hops, crawl_delay_ms, failed_since)
       VALUES ($host, $origin, $kind, $fetchedAt, $body, $attempts, $retryAt, $reason, $number,
         $location, $hops, $crawlDelayMs, $failedSince)`,
    ),
  };
}
