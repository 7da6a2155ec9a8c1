// A host of very many URLs whose copy begins late: the rows that its owner reads for it, counted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection } from '../../../../agent/storage/encoding/connection.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import type { TailBounds } from '../../../../agent/storage/rows/event-tails.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { Work } from '../../../simulation/work.ts';

const HOST = 'a.test';
const OTHER = 'b.test';
const URLS = 20_000;
/** What is at hand is less than the host's events, as with the product's bounds and 200,000 URLs. */
const TAILS = {
  atHand: 20_000,
  rowsPerTurn: 1000,
  tailEvents: 1000,
  backlogEvents: 1e6,
  unusedMs: 1000,
};
const PER_MESSAGE = 200;
/** Statements of a turn besides the rows that it reads: found URLs, the beginning and the end. */
const OTHER_WORK = 40;
/** Numbers of events are as large as times in microseconds. */
const BASE = 2 ** 51;

class Owner {
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
    // Skipped URLs, found and done in two mixed orders.
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

  /** How many rows the statements of `act` read or write. */
  rowsOf(act: () => void): number {
    const before = this.#work.units;
    act();
    return this.#work.units - before;
  }
}

class Copy {
  mark = 0;
  events = 0;
  readonly #owner: Owner;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** One message. */
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

/** Messages until the copy has all; between the first of them both hosts get new URLs. */
function follow(owner: Owner, copy: Copy, found: { count: number }): number {
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

/** One pass over the rows, each event once, and some work of each message. */
const ALL_ROWS_MAX = URLS + 2 * URLS + ((2 * URLS) / PER_MESSAGE + 100) * OTHER_WORK;

test('a copy that begins late costs one pass over the rows of its host, in slices', () => {
  const owner = new Owner(URLS);
  const first = new Copy(owner);
  const found = { count: 0 };
  const rows = follow(owner, first, found);
  assert.ok(rows <= ALL_ROWS_MAX, `${rows} of ${ALL_ROWS_MAX} rows`);
  assert.equal(first.events, 1 + 2 * URLS + found.count);
  // What comes now is at hand.
  owner.find(HOST, '/last');
  const one = owner.rowsOf(() => first.step());
  assert.ok(first.isWhole && one <= OTHER_WORK, `${one} rows for one event`);

  const second = new Copy(owner);
  const again = follow(owner, second, found);
  assert.ok(again <= ALL_ROWS_MAX, `${again} of ${ALL_ROWS_MAX} rows for the next copy`);
  assert.equal(second.events, 2 + 2 * URLS + found.count);
});

test('two copies are served from one pass, each from its own place', () => {
  const owner = new Owner(URLS);
  const [ahead, behind] = [new Copy(owner), new Copy(owner)];
  const rows = owner.rowsOf(() => {
    while (!ahead.isWhole) ahead.step();
    owner.turn(() => owner.store.trimRowEvents(HOST, behind.mark));
    while (!behind.isWhole) behind.step();
  });
  assert.equal(ahead.events, 2 * URLS + 1);
  assert.equal(behind.events, 2 * URLS + 1);
  assert.ok(rows <= URLS + 2 * (ALL_ROWS_MAX - URLS), `${rows} rows`);
});

test('a copy that is behind what was trimmed gets everything in another pass', () => {
  const owner = new Owner(URLS);
  const first = new Copy(owner);
  for (let i = 0; i < 60; i++) first.step();
  owner.turn(() => owner.store.trimRowEvents(HOST, first.mark));
  const second = new Copy(owner);
  while (!second.isWhole) second.step();
  while (!first.isWhole) first.step();
  assert.deepEqual([first.events, second.events], [2 * URLS + 1, 2 * URLS + 1]);
});

test('after a restart in the middle a copy goes on at its mark, with one more pass', () => {
  const owner = new Owner(URLS);
  const copy = new Copy(owner);
  for (let i = 0; i < 60; i++) copy.step();
  const { events } = copy;
  assert.ok(events > 0);
  owner.restart();
  const rows = follow(owner, copy, { count: 0 });
  assert.ok(rows <= ALL_ROWS_MAX - events, `${rows} rows`);
});

test('a copy that has all costs no pass after a restart, nor after other hosts filled the memory', () => {
  const owner = new Owner(URLS);
  const copy = new Copy(owner);
  follow(owner, copy, { count: 0 });
  owner.restart();
  owner.find(HOST, '/after-the-restart');
  const restarted = owner.rowsOf(() => copy.step());
  assert.ok(copy.isWhole && restarted <= OTHER_WORK, `${restarted} rows after the restart`);
  for (let i = 0; i <= TAILS.atHand; i++) owner.find(OTHER, `/many/${i}`);
  owner.find(HOST, '/after-the-drop');
  const dropped = owner.rowsOf(() => copy.step());
  assert.ok(copy.isWhole && dropped <= OTHER_WORK, `${dropped} rows after the drop`);
});

test('a host that is held back after a restart costs its copies no pass', () => {
  const owner = new Owner(URLS);
  const copy = new Copy(owner);
  follow(owner, copy, { count: 0 });
  owner.restart();
  owner.turn(() => {
    const record = owner.store.host(HOST);
    owner.store.saveHost({ ...record, notBefore: record.notBefore + 60_000 }, null);
  });
  assert.equal(copy.isWhole, false);
  const rows = owner.rowsOf(() => copy.step());
  assert.ok(copy.isWhole && rows <= OTHER_WORK, `${rows} rows`);
});

test('events that no copy asks for do not stay in memory', () => {
  const owner = new Owner(URLS);
  const copy = new Copy(owner);
  for (let i = 0; i < 60; i++) copy.step();
  for (let i = 0; i <= TAILS.atHand; i++) owner.find(HOST, `/unasked/${i}`);
  assert.ok(owner.rowsOf(() => copy.step()) >= TAILS.rowsPerTurn, 'the backlog was dropped');
  follow(owner, copy, { count: 0 });
  for (let i = 0; i <= TAILS.atHand; i++) owner.find(HOST, `/unsent/${i}`);
  assert.ok(owner.rowsOf(() => copy.step()) >= TAILS.rowsPerTurn, 'the tail was dropped');
});

test('a backlog that no copy asks for makes room for another host, and an event takes the room of one', () => {
  const tails = { ...TAILS, atHand: 10, tailEvents: 5, backlogEvents: 100 };
  const owner = new Owner(10, tails);
  const found = (host: string, count: number) => {
    for (let i = 0; i < count; i++) owner.find(host, `/more/${i}`);
  };
  const ask = (host: string, at: number) =>
    owner.turn(() => owner.store.rowEvents(host, 0, 200, at)).events.length;
  // 30 events of 100, one of them appended: there is room for the other host.
  found(OTHER, 50);
  assert.ok(ask(HOST, 0) > 0);
  owner.find(HOST, '/appended');
  assert.equal(ask(OTHER, 1), 51);
  // Now there is none for a third.
  found(HOST, 200);
  assert.ok(ask(HOST, 2) > 0);
  found('c.test', 20);
  owner.restart();
  assert.ok(ask(HOST, 3) > 0);
  assert.equal(ask('c.test', 3 + tails.unusedMs), 0);
  assert.equal(ask('c.test', 4 + tails.unusedMs), 20);
});
