// Limits how many requests start at a time. A request holds a thread only while it is young, and
// waits hold none: otherwise a server that sends its response for half a minute would hold a thread
// for as long. Visits of slow hosts need no thread (`places.ts`).
//
// All other visits get threads in the order in which they are due. At most `hostsVisitedMax` visits
// wait, and each holds a thread for at most `youngMs`, so none waits for longer than
// `hostsVisitedMax / threads × youngMs`, which is at most `THREAD_WAIT_MS_MAX`.

/** Maximum wait of a visit for a thread. */
export const THREAD_WAIT_MS_MAX = 1000;
/** Hosts visited at a time for each thread: while one waits for its delay, another is requested. */
const HOSTS_PER_THREAD = 2;
const HOSTS_MIN = 32;

/** @returns the maximum of concurrent ordinary visits of an agent with this number of threads */
export function hostsVisitedMax(threads: number): number {
  return Math.max(HOSTS_PER_THREAD * threads, HOSTS_MIN);
}

export class Threads {
  #threads = 0;
  /** A request that is open for longer releases its thread. Most responses take about 50 ms. */
  youngMs = 0;
  /** Start of each request that holds a thread, oldest first. Bound: the most threads so far. */
  readonly #held = new Map<number, number>();

  constructor(threads: number) {
    this.resize(threads);
  }

  /** Requests that hold threads above the new number keep them until they end or are not young. */
  resize(threads: number): void {
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

  /** When the next thread is released by age; Infinity: no thread is held. */
  freeAtMs(now: number): number {
    for (const startedAt of this.#held.values()) {
      if (startedAt + this.youngMs > now) return startedAt + this.youngMs;
    }
    return Infinity;
  }
}
