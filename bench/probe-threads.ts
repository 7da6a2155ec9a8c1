// The processor time of each kind of thread of an agent: the main thread, the threads that parse
// and archive, and those of V8, ZeroMQ and libuv. Linux lists the threads of a process with their
// names and times. Threads that have ended are no longer listed, so they are read repeatedly, and
// the last reading counts.

import fs from 'node:fs';
import path from 'node:path';

export type ThreadKind = 'main' | 'parse' | 'archive' | 'v8' | 'zeromq' | 'libuv' | 'other';

/** Milliseconds by kind; kinds that took nothing may be absent. */
export type ThreadMs = Readonly<Partial<Record<ThreadKind, number>>>;

/** A few microseconds of work in each period. */
const periodMs = 500;
/** The times are in ticks of 1/100 s on every Linux. */
const tickMs = 10;
/** The beginnings of the names. Linux keeps 15 characters of a name. */
const kinds: readonly (readonly [string, ThreadKind])[] = [
  ['MainThread', 'main'],
  ['node', 'main'],
  ['parse-worker', 'parse'],
  ['archive-worker', 'archive'],
  ['V8Worker', 'v8'],
  ['DelayedTaskSche', 'v8'],
  ['ZMQ', 'zeromq'],
  ['libuv-worker', 'libuv'],
];

/** Names this thread for its program, because Node gives all worker threads the same name. */
export function nameThisThread(): void {
  const name = path.basename(process.argv[1] ?? '');
  try {
    // This call is synchronous, so it is this thread that opens the file.
    fs.writeFileSync('/proc/thread-self/comm', name);
  } catch {
    // Without /proc, no thread is told apart.
  }
}

/** The kind and time of a thread from its line in /proc. */
export function readThread(stat: string): { readonly kind: ThreadKind; readonly ms: number } {
  // The name, in parentheses, may contain anything. User and system time are fields 14 and 15.
  const end = stat.lastIndexOf(')');
  const name = stat.slice(stat.indexOf('(') + 1, end);
  const fields = stat.slice(end + 2).split(' ');
  const kind = kinds.find(([beginning]) => name.startsWith(beginning))?.[1] ?? 'other';
  return { kind, ms: (Number(fields[11]) + Number(fields[12])) * tickMs };
}

export class ThreadTimes {
  /** By the thread's number: at most the threads that the process ever had. */
  readonly #last = new Map<string, { kind: ThreadKind; ms: number }>();
  #before = new Map<string, number>();

  /** Counts from now on. */
  begin(): void {
    this.#read();
    this.#before = new Map(Array.from(this.#last, ([id, { ms }]) => [id, ms]));
    setInterval(() => this.#read(), periodMs).unref();
  }

  sinceBegin(): ThreadMs {
    this.#read();
    const sums: Partial<Record<ThreadKind, number>> = {};
    for (const [id, { kind, ms }] of this.#last) {
      sums[kind] = (sums[kind] ?? 0) + ms - (this.#before.get(id) ?? 0);
    }
    return sums;
  }

  #read(): void {
    const root = '/proc/self/task';
    if (!fs.existsSync(root)) return;
    for (const id of fs.readdirSync(root)) {
      try {
        this.#last.set(id, readThread(fs.readFileSync(`${root}/${id}/stat`, 'utf8')));
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}
