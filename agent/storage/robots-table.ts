// The last answer to a request for each origin's robots.txt. A good one is numbered like the events
// of URLs and travels with them, so that whoever takes the host over within its time need not ask
// again; its age crosses the wire, not its time, for clocks need not agree. That it could not be had
// does not travel: the next owner may have better luck. Reached through `SqliteStore`.

import type { RowEvent } from '../core/messages.ts';
import type { RobotsRecord } from '../frontier/store.ts';
import type { Connection } from './connection.ts';
import type { HostRow } from './host-table.ts';
import type { Numbers } from './numbers.ts';

export type RobotsEvent = Extract<RowEvent, { kind: 'robots' }>;

/** Told of each number, for the copies at other agents. */
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
    return row ? { ...row, retryAt: row.retryAt ?? Infinity } : null;
  }

  save(row: HostRow, origin: string, record: RobotsRecord): void {
    const travels = record.kind !== 'unreachable';
    const number = travels ? this.#numbers.next() : 0;
    this.#s.save.run({ ...record, host: row.number, origin, number });
    if (travels) this.#note(row, origin, number);
  }

  /** Origins whose answers travel, with their numbers. */
  numbers(hostNumber: number): { origin: string; number: number }[] {
    return this.#s.numbers.all(hostNumber);
  }

  /**
   * Null where a later answer has another number. Its age is as of `at`: no message takes longer
   * than until then, so that nobody takes the answer for younger than it is.
   */
  event(hostNumber: number, origin: string, n: number, at: number): RobotsEvent | null {
    const found = this.#s.numbered.get(hostNumber, origin, n);
    if (!found || found.kind === 'unreachable') return null;
    const { kind: answer, body, reason, fetchedAt } = found;
    const text = body === null ? {} : { body: Buffer.from(body).toString('base64') };
    const ageMs = Math.max(0, at - fetchedAt);
    return { kind: 'robots', n, origin, answer, reason, ageMs, ...text };
  }

  /** Another agent's answer: of two the younger stands. */
  take(row: HostRow, { origin, answer, reason, ageMs, body }: RobotsEvent, now: number): void {
    const fetchedAt = now - ageMs;
    const known = this.find(row.number, origin);
    if (known && known.fetchedAt >= fetchedAt) return;
    const bytes = body === undefined ? null : Buffer.from(body, 'base64');
    const record = { kind: answer, fetchedAt, body: bytes, attempts: 0, retryAt: 0, reason };
    this.save(row, origin, record);
  }

  deleteHost(hostNumber: number): void {
    this.#s.deleteHost.run(hostNumber);
  }
}

const RECORD = 'kind, fetched_at AS fetchedAt, body, attempts, retry_at AS retryAt, reason';

function statements(db: Connection) {
  return {
    find: db.prepare<[number, string], RobotsRecord>(
      `SELECT ${RECORD} FROM robots WHERE host = ? AND origin = ?`,
    ),
    numbered: db.prepare<[number, string, number], RobotsRecord>(
      `SELECT ${RECORD} FROM robots WHERE host = ? AND origin = ? AND number = ?`,
    ),
    numbers: db.prepare<[number], { origin: string; number: number }>(
      'SELECT origin, number FROM robots WHERE host = ? AND number > 0',
    ),
    save: db.prepare<[RobotsRecord & { host: number; origin: string; number: number }]>(
      `INSERT OR REPLACE INTO robots
        (host, origin, kind, fetched_at, body, attempts, retry_at, reason, number)
       VALUES ($host, $origin, $kind, $fetchedAt, $body, $attempts, $retryAt, $reason, $number)`,
    ),
    deleteHost: db.prepare<[number]>('DELETE FROM robots WHERE host = ?'),
  };
}
