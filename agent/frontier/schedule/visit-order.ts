// Orders the visits by the time at which their next step is due. Visits of slow hosts need no
// thread (`threads.ts`), so they have a queue of their own. Two queues with due visits take turns.

import type { Wait } from '../../core/protocol/visits-port.ts';
import { MinHeap } from './min-heap.ts';
import type { Place } from './places.ts';
import { Threads } from './threads.ts';

export interface Scheduled {
  /** When the next step is due, on the monotonic clock. Set by `VisitOrder.dueAt`. */
  dueAt: number;
  /** Set if the step waits for the end of the host's delay or back-off. */
  wait?: Wait | undefined;
  readonly place: Place;
}

export class VisitOrder<Visit extends Scheduled> {
  readonly threads: Threads;
  readonly #isWaiting: (visit: Visit) => boolean;
  readonly #slow = new MinHeap<Visit>();
  readonly #others = new MinHeap<Visit>();
  #turn: 'slow' | 'others' = 'others';

  /** @param isWaiting - whether the visit exists and has no open request */
  constructor(threads: number, isWaiting: (visit: Visit) => boolean) {
    this.threads = new Threads(threads);
    this.#isWaiting = isWaiting;
  }

  dueAt(visit: Visit, at: number, why?: 'delay'): void {
    visit.dueAt = at;
    visit.wait = why && { kind: 'time', untilMs: at, why };
    (visit.place === 'slow' ? this.#slow : this.#others).push(at, visit);
  }

  /** Removes and returns the visit whose step is due; undefined: none, or no thread is free. */
  next(now: number): Visit | undefined {
    const slow = this.#isDue(this.#slow, true, now);
    const others = this.#isDue(this.#others, false, now) && this.threads.mayStart(now);
    if (!slow && !others) return undefined;
    const from = others && (!slow || this.#turn === 'others') ? this.#others : this.#slow;
    this.#turn = from === this.#slow ? 'others' : 'slow';
    return from.pop();
  }

  /** Whether the first visit of the heap is due. Drops outdated entries. */
  #isDue(heap: MinHeap<Visit>, isSlow: boolean, now: number): boolean {
    for (let visit = heap.first; visit && heap.firstKey <= now; visit = heap.first) {
      const isCurrent = visit.dueAt === heap.firstKey && (visit.place === 'slow') === isSlow;
      if (isCurrent && this.#isWaiting(visit)) return true;
      heap.pop();
    }
    return false;
  }

  /** When the next step is due. A visit that was due at `tickedAt` and is left needs a thread. */
  nextAtMs(tickedAt: number): number {
    const { firstKey } = this.#others;
    const othersAt = firstKey <= tickedAt ? this.threads.freeAtMs(tickedAt) : firstKey;
    return Math.min(othersAt, this.#slow.firstKey);
  }
}
