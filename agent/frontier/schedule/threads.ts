// How many requests may begin at a time. A thread is held by a request, not by the wait before it,
// and only while the request is young: a server that drips its answer for half a minute would
// otherwise hold a thread for as long. Visits of hosts that are known as slow need no thread at all
// (`places.ts`).
//
// All others that are due get their threads in that order. There are `hostsVisitedMax` of them at
// most, and each holds a thread for `youngMs` at most, so nobody waits for longer than
// `hostsVisitedMax / threads × youngMs`, which is `THREAD_WAIT_MS_MAX`, whatever the servers do.

/** The longest that a visit waits for a thread. */
export const THREAD_WAIT_MS_MAX = 1000;
/** Hosts visited at a time, for each thread: while one waits out its delay another is asked. */
const HOSTS_PER_THREAD = 2;
const HOSTS_MIN = 32;

/** @returns how many hosts an agent with so many threads visits at a time, slow ones apart */
export function hostsVisitedMax(threads: number): number {
  return Math.max(HOSTS_PER_THREAD * threads, HOSTS_MIN);
}

export class Threads {
  readonly #threads: number;
  /** A request that is open for longer gives its thread up. Most answers take a tenth of 500 ms. */
  readonly youngMs: number;
  /** When each request began that holds a thread, the oldest first. Bound: `threads`. */
  readonly #held = new Map<number, number>();

  constructor(threads: number) {
    this.#threads = threads;
    const turns = Math.ceil(hostsVisitedMax(threads) / threads);
    this.youngMs = Math.floor(THREAD_WAIT_MS_MAX / turns);
  }

  started(id: number, now: number): void {
    this.#held.set(id, now);
  }

  ended(id: number): void {
    this.#held.delete(id);
  }

  mayStart(now: number): boolean {
    for (const [id, startedAt] of this.#held) {
      if (startedAt + this.youngMs > now) break;
      this.#held.delete(id);
    }
    return this.#held.size < this.#threads;
  }

  /** When a thread comes free without the end of a request; Infinity: none is held. */
  freeAtMs(now: number): number {
    for (const startedAt of this.#held.values()) {
      if (startedAt + this.youngMs > now) return startedAt + this.youngMs;
    }
    return Infinity;
  }
}
