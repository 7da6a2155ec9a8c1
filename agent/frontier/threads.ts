// How many requests may be open. A thread is held by a request, not by the wait before it, and only
// while the request is young: a server that drips its answer for half a minute would otherwise hold
// a thread for as long, and as many such servers as threads would stop every other host. A request
// that stays open longer gives its thread up, as long as fewer than `slowMax` have done so.
//
// Hosts whose last request was answered in time (quick) and all others (new ones and slow ones) take
// turns where both want a thread, and the slow ones never hold all of them: where `slowMax` is used
// up, a quick host may still start, beyond the requests that are no longer young. All bounds
// together: at most 2 × threads + slowMax requests are open.

/** A request that is open for longer gives its thread up. Most answers take a tenth of it. */
export const YOUNG_MS = 750;
/** Slow requests beside the threads, for each thread: sockets cost little, their bodies are small. */
const SLOW_PER_THREAD = 3;
/** With one thread or two, some slow hosts must still find room. */
const SLOW_MIN = 16;
/** Hosts visited at a time, for each thread: while one waits out its delay another is asked. */
const HOSTS_PER_THREAD = 2;
const HOSTS_MIN = 32;

/** @returns how many hosts an agent with so many threads visits at a time */
export function hostsVisitedMax(threads: number): number {
  return Math.max(HOSTS_PER_THREAD * threads, HOSTS_MIN);
}

interface Held {
  readonly startedAt: number;
  readonly isQuick: boolean;
}

export class Threads {
  readonly #threads: number;
  readonly #slowMax: number;
  /** Requests that hold a thread, the oldest first. Bound: 2 × threads. */
  readonly #held = new Map<number, Held>();
  /** Requests that gave their thread up. Bound: `slowMax`. */
  readonly #slow = new Set<number>();

  constructor(threads: number) {
    this.#threads = threads;
    this.#slowMax = Math.max(SLOW_PER_THREAD * threads, SLOW_MIN);
  }

  started(id: number, isQuick: boolean, now: number): void {
    this.#held.set(id, { startedAt: now, isQuick });
  }

  ended(id: number): void {
    if (!this.#slow.delete(id)) this.#held.delete(id);
  }

  /** Requests that gave their thread up, as of the last look at the threads. */
  get slow(): number {
    return this.#slow.size;
  }

  /** @param isQuick - the last request to the host was answered while it was young */
  mayStart(isQuick: boolean, now: number): boolean {
    this.settle(now);
    if (this.#held.size < this.#threads) return true;
    if (!isQuick) return false;
    let holding = 0;
    for (const held of this.#held.values()) {
      if (held.isQuick || held.startedAt + YOUNG_MS > now) holding++;
    }
    return holding < this.#threads;
  }

  /** When a thread comes free without the end of a request; Infinity: not before one ends. */
  freeAtMs(now: number): number {
    let at = Infinity;
    for (const { startedAt } of this.#held.values()) {
      if (startedAt + YOUNG_MS > now) at = Math.min(at, startedAt + YOUNG_MS);
    }
    return at;
  }

  /** Requests that are no longer young give their threads up. */
  settle(now: number): void {
    for (const [id, { startedAt }] of this.#held) {
      if (startedAt + YOUNG_MS > now || this.#slow.size >= this.#slowMax) return;
      this.#held.delete(id);
      this.#slow.add(id);
    }
  }
}
