// The set-up shared by `event-tails-late-copy.test.ts` and `slow/event-tails-late-copy.test.ts`.

import assert from 'node:assert/strict';
import type { Connection } from '../../../../agent/storage/encoding/connection.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import type { TailBounds } from '../../../../agent/storage/rows/event-tails.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { Work } from '../../../simulation/work.ts';

export const HOST = 'a.test';
export const OTHER = 'b.test';
export const URLS = 20_000;
/**
 * The events in memory are fewer than the host has, as with the product's bounds and 200,000 URLs.
 */
export const TAILS = {
  atHand: 20_000,
  rowsPerTurn: 1000,
  tailEvents: 1000,
  backlogEvents: 1e6,
  unusedMs: 1000,
};
export const PER_MESSAGE = 200;
/** Work of a turn besides the rows that it reads: found URLs, begin and commit. */
export const OTHER_WORK = 40;
/** Event numbers are as large as times in microseconds. */
export const BASE = 2 ** 51;

export class Owner {
  readonly db: Connection;
  readonly #work = new Work();
  store: SqliteStore;

  readonly #tails: TailBounds;

  constructor(urls: number, tails: TailBounds = TAILS) {
    this.#tails = tails;
    this.db = this.#work.counted(openInMemory());
    this.store = this.#open();
    this.find(HOST, '/');
    this.find(OTHER, '/');
    // Skipped URLs whose found and done events are in two mixed orders.
    const host = this.store.host(HOST).number;
    this.db
      .prepare(
        `WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < $urls)
         INSERT OR IGNORE INTO urls (id, key, state, depth, found, done, attempts, reason)
         SELECT ($host << 28) + i * 16, '/' || i, 3, 1, $base + (i * 7919) % $urls,
           $base + $urls + (i * 6007) % $urls, 0, 'robots' FROM i`,
      )
      .run({ host, urls, base: BASE });
    const last = BASE + 2 * urls;
    this.db.prepare('UPDATE host_rows SET last = ? WHERE number = ?').run(last, host);
    this.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('n', ?)").run(last);
    this.restart();
  }

  #open(): SqliteStore {
    const options = { durability: 'process', hostDelayMs: 0, tails: this.#tails } as const;
    return new SqliteStore(this.db, options);
  }

  restart(): void {
    this.store = this.#open();
  }

  turn<T>(act: () => T): T {
    this.store.begin();
    const result = act();
    this.store.commit(false);
    return result;
  }

  find(host: string, path: string): void {
    this.turn(() => this.store.enqueue(host, { url: `http://${host}${path}`, depth: 1 }, null));
  }

  /** The number of rows that the statements of `act` read or write. */
  rowsOf(act: () => void): number {
    const before = this.#work.units;
    act();
    return this.#work.units - before;
  }
}

export class Copy {
  mark = 0;
  events = 0;
  readonly #owner: Owner;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** Sends one message. */
  step(): void {
    const owner = this.#owner;
    const read = owner.turn(() => owner.store.rowEvents(HOST, this.mark, PER_MESSAGE, 0));
    for (const { n } of read.events) {
      assert.ok(n > this.mark, `${n} after ${this.mark}`);
      this.mark = n;
    }
    this.events += read.events.length;
    this.mark = read.to;
  }

  get isWhole(): boolean {
    return this.mark === this.#owner.store.lastNumber(HOST);
  }
}

/**
 * Sends messages until the copy has everything; between the first messages both hosts get new URLs.
 * Returns the number of rows read.
 */
export function follow(owner: Owner, copy: Copy, found: { count: number }): number {
  let rows = 0;
  const messagesMax = (4 * URLS) / PER_MESSAGE + URLS / TAILS.rowsPerTurn + 200;
  for (let message = 1; !copy.isWhole; message++) {
    assert.ok(message < messagesMax, 'it ends');
    const read = owner.rowsOf(() => {
      copy.step();
      owner.turn(() => owner.store.trimRowEvents(HOST, copy.mark));
      if (message > 100 || message % 5 > 0) return;
      const path = `/new/${found.count++}`;
      for (const host of [HOST, OTHER]) owner.find(host, path);
    });
    assert.ok(read <= TAILS.rowsPerTurn + PER_MESSAGE + OTHER_WORK, `${read} rows in a turn`);
    rows += read;
  }
  return rows;
}
