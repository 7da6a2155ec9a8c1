// Counts what an agent asks of SQLite, of the system and of the memory, which hardly depends on how
// fast the machine is: a page that begins to cost a statement, a system call or an allocation more
// shows here, however busy the machine. It wraps the driver's own methods, from without. Loaded by
// `probe.ts`; read by `cost.ts` and by the test that guards these figures.

import { subscribe } from 'node:diagnostics_channel';
import fs from 'node:fs';
import v8 from 'node:v8';
import Database from 'better-sqlite3';

/** Of the agent's whole life, unless a difference was taken. */
export interface Counts {
  /** Prepared statements that were run, begin and commit not among them. */
  readonly statements: number;
  readonly transactions: number;
  /** Of TCP, to web servers; peers are connected to from elsewhere. */
  readonly connections: number;
  /** Reads and writes of files, sockets and wake-ups between threads, which depend on how these run. */
  readonly reads: number;
  readonly writes: number;
  /** Bytes of these writes: state, archive, log and all that was sent. */
  readonly writtenBytes: number;
  /** Of the main thread's JavaScript heap, up to the last collection of garbage. */
  readonly allocatedBytes: number;
}

/** Begins to count; to be called before the agent opens its state. */
export function countAll(): () => Counts {
  const sqlite = countStatements();
  const heap = new Allocations();
  let connections = 0;
  subscribe('net.client.socket', () => {
    connections++;
  });
  return () => ({ ...sqlite, connections, ...systemCalls(), allocatedBytes: heap.bytes() });
}

export function difference(all: Counts, before: Counts): Counts {
  return {
    statements: all.statements - before.statements,
    transactions: all.transactions - before.transactions,
    connections: all.connections - before.connections,
    reads: all.reads - before.reads,
    writes: all.writes - before.writes,
    writtenBytes: all.writtenBytes - before.writtenBytes,
    allocatedBytes: all.allocatedBytes - before.allocatedBytes,
  };
}

type Method = (this: unknown, ...given: unknown[]) => unknown;

function countStatements(): { statements: number; transactions: number } {
  const counts = { statements: 0, transactions: 0 };
  const db = new Database(':memory:');
  const statement = Object.getPrototypeOf(db.prepare('SELECT 1')) as Record<string, Method>;
  db.close();
  for (const name of ['run', 'get', 'all', 'iterate']) {
    const original = statement[name]!;
    statement[name] = function (...given) {
      counts.statements++;
      return original.apply(this, given);
    };
  }
  const database = Database.prototype as unknown as Record<string, Method>;
  const exec = database.exec!;
  database.exec = function (...given) {
    if (given[0] === 'COMMIT') counts.transactions++;
    return exec.apply(this, given);
  };
  return counts;
}

function systemCalls() {
  if (!fs.existsSync('/proc/self/io')) return { reads: 0, writes: 0, writtenBytes: 0 };
  const text = fs.readFileSync('/proc/self/io', 'utf8');
  const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  return { reads: of('syscr'), writes: of('syscw'), writtenBytes: of('wchar') };
}

/** What the heap gained between collections, from the end of one to the beginning of the next. */
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
    return this.#bytes;
  }
}
