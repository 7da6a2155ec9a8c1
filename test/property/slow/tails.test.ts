// Compares the event stream of a host with its tables: whatever the order in which events occur,
// copies read, events in memory are trimmed or dropped, and the agent restarts, each read returns
// exactly the next events, and every copy reaches the end.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Connection } from '../../../agent/storage/encoding/connection.ts';
import { openInMemory } from '../../../agent/storage/file/database.ts';
import type { TailBounds } from '../../../agent/storage/rows/event-tails.ts';
import { SqliteStore } from '../../../agent/storage/sqlite-store.ts';

const HOSTS = ['h.test', 'i.test'];
const NOW = 1000;
const COPIES = 2;

const host = fc.constantFrom(...HOSTS);
const copy = fc.nat({ max: COPIES - 1 });
const page = fc.nat({ max: 40 });

type Deed =
  | { kind: 'find' | 'skip'; host: string; page: number }
  | { kind: 'read'; host: string; copy: number; max: number }
  | { kind: 'follow'; host: string; times: number }
  | { kind: 'lose'; host: string; copy: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'trim' | 'robots' | 'hold' | 'remove'; host: string }
  | { kind: 'turn' | 'restart' | 'round' };

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constantFrom('find', 'skip'), host, page }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      ...{ host, copy, max: fc.integer({ min: 1, max: 6 }) },
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('follow' as const),
      ...{ host, times: fc.integer({ min: 1, max: 15 }) },
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('trim' as const, 'trim' as const, 'robots' as const, 'hold' as const),
      host,
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ kind: fc.constantFrom('turn' as const, 'turn' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('restart' as const, 'round' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), host }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lose' as const), host, copy }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(200_000) }) },
);

const bounds: fc.Arbitrary<TailBounds> = fc.record({
  atHand: fc.integer({ min: 1, max: 40 }),
  rowsPerTurn: fc.integer({ min: 1, max: 10 }),
  tailEvents: fc.integer({ min: 1, max: 10 }),
  backlogEvents: fc.integer({ min: 1, max: 60 }),
  unusedMs: fc.constant(100_000),
});

class Stream {
  readonly #db: Connection = openInMemory();
  readonly #bounds: TailBounds;
  readonly #marks = new Map(HOSTS.map((name) => [name, Array<number>(COPIES).fill(0)]));
  #store: SqliteStore;
  #at = NOW;

  constructor(tails: TailBounds) {
    this.#bounds = tails;
    this.#store = this.#open();
  }

  #open(): SqliteStore {
    const options = { durability: 'process', hostDelayMs: 0, tails: this.#bounds } as const;
    const store = new SqliteStore(this.#db, options);
    store.begin();
    return store;
  }

  turn(): void {
    this.#store.commit(false);
    this.#store.begin();
  }

  act(deed: Deed): void {
    const store = this.#store;
    switch (deed.kind) {
      case 'find':
        return void store.enqueue(deed.host, itemOf(deed.host, deed.page), null);
      case 'skip': {
        store.enqueue(deed.host, itemOf(deed.host, deed.page), null);
        const { number } = store.host(deed.host);
        const next = store.nextUrl(number, Infinity);
        if (next) store.skip(number, next.url, 'robots');
        return;
      }
      case 'robots': {
        const record = { kind: 'none', fetchedAt: this.#at, body: null, attempts: 0, retryAt: 0 };
        const { number } = store.host(deed.host);
        return store.saveRobots(number, `http://${deed.host}`, {
          ...record,
          reason: 'status 404',
        } as never);
      }
      case 'hold': {
        const record = store.host(deed.host);
        return store.saveHost({ ...record, notBefore: record.notBefore + 1 }, null);
      }
      case 'round':
        store.beginRound(store.round() + 1);
        for (const name of HOSTS) while (!store.requeueKnown(name, 7).over);
        return;
      case 'trim':
        return store.trimRowEvents(deed.host, Math.min(...this.#marks.get(deed.host)!));
      case 'remove':
        this.#marks.get(deed.host)!.fill(0);
        return store.deleteHost(deed.host);
      case 'lose':
        this.#marks.get(deed.host)![deed.copy] = 0;
        return;
      case 'wait':
        this.#at += deed.ms;
        return;
      case 'read':
        return void this.read(deed.host, deed.copy, deed.max);
      case 'follow':
        return this.#follow(deed.host, deed.times);
      case 'turn':
        return this.turn();
      case 'restart':
        store.commit(false);
        this.#store = this.#open();
        return;
    }
  }

  /** Both copies read and acknowledge, the second half as often. */
  #follow(name: string, times: number): void {
    for (let i = 0; i < times; i++) {
      this.read(name, 0, 3);
      if (i % 2 === 0) this.read(name, 1, 3);
      this.turn();
      this.act({ kind: 'trim', host: name });
    }
  }

  /** Returns whether the copy now has all events. */
  read(name: string, copy: number, max: number): boolean {
    const marks = this.#marks.get(name)!;
    const mark = marks[copy]!;
    const { events, to } = this.#store.rowEvents(name, mark, max, this.#at++);
    assert.ok(to >= mark && events.length <= max);
    const told = events.map(({ kind, n }) => `${n} ${kind}`);
    assert.deepEqual(told, this.#numbers(name, mark, to), `above ${mark} up to ${to}`);
    marks[copy] = to;
    return to >= this.#store.lastNumber(name);
  }

  /** The expected events in this range, read from the tables. */
  #numbers(name: string, above: number, upTo: number): string[] {
    if (!this.#store.hosts().includes(name)) return [];
    const { number } = this.#store.host(name);
    const rows = this.#db
      .prepare<unknown[], { n: number; kind: string }>(
        `SELECT * FROM (
           SELECT found AS n, 'found' AS kind, id >> 28 AS host FROM urls
           UNION ALL SELECT again, 'again', id >> 28 FROM urls
           UNION ALL SELECT done, 'done', id >> 28 FROM urls
           UNION ALL SELECT number, 'robots', host FROM robots)
         WHERE host = ? AND n > ? AND n <= ? ORDER BY n`,
      )
      .all(number, Math.max(0, above), upTo);
    return rows.map(({ n, kind }) => `${n} ${kind}`);
  }

  /**
   * Asserts that reading and acknowledging copies reach the end, although no backlog becomes
   * unused.
   */
  finish(): void {
    const open = new Set(HOSTS);
    for (let turns = 0; open.size > 0; turns++) {
      assert.ok(turns < 1000, 'all copies reach the end');
      for (const name of open) {
        const whole = Array.from({ length: COPIES }, (_, copy) => this.read(name, copy, 5));
        this.act({ kind: 'trim', host: name });
        if (whole.every(Boolean)) open.delete(name);
      }
      this.turn();
    }
  }
}

function itemOf(name: string, page: number) {
  return { url: `http://${name}/p${page}`, depth: page % 4 };
}

it('tails: each read returns the next events of the tables, whatever is in memory', () => {
  fc.assert(
    fc.property(bounds, fc.array(deed, { minLength: 20, maxLength: 200 }), (tails, deeds) => {
      const stream = new Stream(tails);
      for (const one of deeds) stream.act(one);
      stream.finish();
    }),
    { numRuns: 300 },
  );
});
