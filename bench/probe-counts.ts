// Counts the SQLite statements, system calls and allocations of an agent, which hardly depend on
// the speed of the machine. An additional statement, system call or allocation per page shows here
// even on a busy machine. It wraps the driver's own methods from outside. `probe.ts` loads it.

import { subscribe } from 'node:diagnostics_channel';
import fs from 'node:fs';
import v8 from 'node:v8';
import Database from 'better-sqlite3';
import { RedisLink } from '../agent/networks/redis/redis-link.ts';
import { UrlTable } from '../agent/storage/rows/url-table.ts';

/** Counts over the agent's whole run, unless a difference was taken. */
export interface Counts {
  /** Prepared statements that were run, without begin and commit. */
  readonly statements: number;
  /** Those of them that write: `run()`. */
  readonly writing: number;
  /** Commits of turns. */
  readonly transactions: number;
  /** Commits that wait until the disk has everything. */
  readonly syncs: number;
  /** TCP connections to web servers, without those to peers. */
  readonly connections: number;
  /** Commands to the Redis of networks, and the turns in which some were sent to one of them. */
  readonly redisCommands: number;
  readonly roundTrips: number;
  /** URLs that reached the owner of their host, those of them that it did not know, and those that another network has. */
  readonly urlsRouted: number;
  readonly urlsNew: number;
  readonly urlsElsewhere: number;
  /** Reads and writes of files, sockets and thread wake-ups, which depend on scheduling. */
  readonly reads: number;
  readonly writes: number;
  /** Bytes of these writes: state, archive, log and everything sent. */
  readonly writtenBytes: number;
  /** Allocations in the main thread's JavaScript heap. */
  readonly allocatedBytes: number;
}

/** Starts to count. Call it before the agent opens its state. */
export function countAll(): () => Counts {
  const sqlite = countStatements();
  const redis = countRedis();
  const urls = countUrls();
  const heap = new Allocations();
  let connections = 0;
  subscribe('net.client.socket', () => {
    connections++;
  });
  return () => ({
    ...sqlite,
    ...redis,
    ...urls,
    connections,
    ...systemCalls(),
    allocatedBytes: heap.bytes(),
  });
}

export function difference(all: Counts, before: Counts): Counts {
  const names = Object.keys(all) as (keyof Counts)[];
  const pairs = names.map((name) => [name, all[name] - before[name]]);
  return Object.fromEntries(pairs) as unknown as Counts;
}

type Method = (this: unknown, ...given: unknown[]) => unknown;

function countStatements() {
  const counts = { statements: 0, writing: 0, transactions: 0, syncs: 0 };
  let isFull = false;
  const db = new Database(':memory:');
  const statement = Object.getPrototypeOf(db.prepare('SELECT 1')) as Record<string, Method>;
  db.close();
  for (const name of ['run', 'get', 'all', 'iterate']) {
    const original = statement[name]!;
    statement[name] = function (...given) {
      counts.statements++;
      if (name === 'run') counts.writing++;
      const { database } = this as { readonly database: { readonly inTransaction: boolean } };
      if (isFull && name === 'run' && !database.inTransaction) counts.syncs++;
      return original.apply(this, given);
    };
  }
  const database = Database.prototype as unknown as Record<string, Method>;
  const exec = database.exec!;
  database.exec = function (...given) {
    if (given[0] === 'COMMIT') {
      counts.transactions++;
      if (isFull) counts.syncs++;
    }
    return exec.apply(this, given);
  };
  const pragma = database.pragma!;
  database.pragma = function (...given) {
    // `SqliteStore` sets it before a commit that syncs, and NORMAL before other ones.
    const [, level] = /^synchronous = (\w+)$/.exec(String(given[0])) ?? [];
    if (level !== undefined) isFull = level === 'FULL';
    return pragma.apply(this, given);
  };
  return counts;
}

/** A URL that another network has claimed gets a second verdict when it has finished it. */
function countUrls() {
  const counts = { urlsRouted: 0, urlsNew: 0, urlsElsewhere: 0 };
  const { insert, decide } = UrlTable.prototype;
  UrlTable.prototype.insert = function (...given) {
    const isNew = insert.apply(this, given);
    counts.urlsRouted++;
    if (isNew) counts.urlsNew++;
    return isNew;
  };
  UrlTable.prototype.decide = function (...given) {
    const [, verdict] = given;
    if (verdict.kind === 'elsewhere' && verdict.isFinal) counts.urlsElsewhere++;
    return decide.apply(this, given);
  };
  return counts;
}

/** Commands that are sent to a server in one turn of the event loop share a round trip. */
export function countRedis() {
  const counts = { redisCommands: 0, roundTrips: 0 };
  const open = new Set<unknown>();
  const link = RedisLink.prototype as unknown as Record<'call' | 'run', Method>;
  for (const name of ['call', 'run'] as const) {
    const original = link[name];
    link[name] = function (...given) {
      counts.redisCommands++;
      if (!open.has(this)) {
        if (open.size === 0) setImmediate(() => open.clear());
        open.add(this);
        counts.roundTrips++;
      }
      return original.apply(this, given);
    };
  }
  return counts;
}

function systemCalls() {
  if (!fs.existsSync('/proc/self/io')) return { reads: 0, writes: 0, writtenBytes: 0 };
  const text = fs.readFileSync('/proc/self/io', 'utf8');
  const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  return { reads: of('syscr'), writes: of('syscw'), writtenBytes: of('wchar') };
}

/** The growth of the heap from the end of each collection to the start of the next, or to now. */
class Allocations {
  #profiler = new v8.GCProfiler();
  #bytes = 0;
  #after = v8.getHeapStatistics().used_heap_size;

  constructor() {
    this.#profiler.start();
  }

  bytes(): number {
    for (const { beforeGC, afterGC } of this.#profiler.stop()?.statistics ?? []) {
      this.#bytes += beforeGC.heapStatistics.usedHeapSize - this.#after;
      this.#after = afterGC.heapStatistics.usedHeapSize;
    }
    this.#profiler = new v8.GCProfiler();
    this.#profiler.start();
    // Without the rest, the sum would change in steps as large as the young generation.
    return this.#bytes + v8.getHeapStatistics().used_heap_size - this.#after;
  }
}
