// The visits in the order in which they make their next steps: by the time at which each is due. A
// visit of a slow host needs no thread (`threads.ts`), so those have an order of their own; where
// both have one that may go on, they take turns. Used by the visits.

import { MinHeap } from './min-heap.ts';
import type { Place } from './places.ts';
import { Threads } from './threads.ts';

/** What the order needs of a visit. */
export interface Scheduled {
  /** When its next step is due, on the monotonic clock; set by the order. */
  dueAt: number;
  readonly place: Place;
}

export class VisitOrder<Visit extends Scheduled> {
  readonly threads: Threads;
  readonly #isWaiting: (visit: Visit) => boolean;
  readonly #slow = new MinHeap<Visit>();
  readonly #others = new MinHeap<Visit>();
  #turn: 'slow' | 'others' = 'others';

  /** @param isWaiting - whether the visit lasts and has no request open */
  constructor(threads: number, isWaiting: (visit: Visit) => boolean) {
    this.threads = new Threads(threads);
    this.#isWaiting = isWaiting;
  }

  dueAt(visit: Visit, at: number): void {
    visit.dueAt = at;
    (visit.place === 'slow' ? this.#slow : this.#others).push(at, visit);
  }

  /** The visit that is to make its next step. */
  next(now: number): Visit | undefined {
    const slow = this.#isDue(this.#slow, true, now);
    const others = this.#isDue(this.#others, false, now) && this.threads.mayStart(now);
    if (!slow && !others) return undefined;
    const from = others && (!slow || this.#turn === 'others') ? this.#others : this.#slow;
    this.#turn = from === this.#slow ? 'others' : 'slow';
    return from.pop();
  }

  /** Drops entries that no visit goes by any more. */
  #isDue(heap: MinHeap<Visit>, isSlow: boolean, now: number): boolean {
    for (let visit = heap.first; visit && heap.firstKey <= now; visit = heap.first) {
      const isCurrent = visit.dueAt === heap.firstKey && (visit.place === 'slow') === isSlow;
      if (isCurrent && this.#isWaiting(visit)) return true;
      heap.pop();
    }
    return false;
  }

  /** When the next step is due. What was due at `tickedAt` and is left waits for a thread. */
  nextAtMs(tickedAt: number): number {
    const { firstKey } = this.#others;
    const othersAt = firstKey <= tickedAt ? this.threads.freeAtMs(tickedAt) : firstKey;
    return Math.min(othersAt, this.#slow.firstKey);
  }
}
