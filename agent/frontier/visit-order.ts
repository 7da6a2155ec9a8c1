// The visits in the order in which they make their next steps: by the time at which each is due, with
// quick hosts and all others in turns where both want a thread (threads.ts). Used by the visits.

import { MinHeap } from './min-heap.ts';
import { Threads } from './threads.ts';

/** What the order needs of a visit. */
export interface Scheduled {
  /** When its next step is due, on the monotonic clock; set by the order. */
  dueAt: number;
  /** Its last request was answered soon; false before the first. */
  readonly isQuick: boolean;
}

export class VisitOrder<Visit extends Scheduled> {
  readonly threads: Threads;
  readonly #isWaiting: (visit: Visit) => boolean;
  readonly #quick = new MinHeap<Visit>();
  readonly #others = new MinHeap<Visit>();
  /** Whose turn it is where both kinds want a thread. */
  #turn: 'quick' | 'others' = 'quick';

  /** @param isWaiting - whether the visit lasts and has no request open */
  constructor(threads: number, isWaiting: (visit: Visit) => boolean) {
    this.threads = new Threads(threads);
    this.#isWaiting = isWaiting;
  }

  dueAt(visit: Visit, at: number): void {
    visit.dueAt = at;
    (visit.isQuick ? this.#quick : this.#others).push(at, visit);
  }

  /** The visit that is to make its next step, a thread being free for it; the kinds take turns. */
  next(now: number): Visit | undefined {
    const quick = this.#isDue(this.#quick, true, now);
    const others = this.#isDue(this.#others, false, now);
    const mayQuick = quick && this.threads.mayStart(true, now);
    const mayOthers = others && this.threads.mayStart(false, now);
    if (!mayQuick && !mayOthers) return undefined;
    const from = mayQuick && (!mayOthers || this.#turn === 'quick') ? this.#quick : this.#others;
    this.#turn = from === this.#quick ? 'others' : 'quick';
    return from.pop();
  }

  /** Drops entries that no visit goes by any more. */
  #isDue(heap: MinHeap<Visit>, isQuick: boolean, now: number): boolean {
    for (let visit = heap.first; visit && heap.firstKey <= now; visit = heap.first) {
      const isCurrent = visit.dueAt === heap.firstKey && visit.isQuick === isQuick;
      if (isCurrent && this.#isWaiting(visit)) return true;
      heap.pop();
    }
    return false;
  }

  /** When the next step is due. What was due at `tickedAt` and is left waits for a thread. */
  nextAtMs(tickedAt: number): number {
    const atOf = ({ firstKey }: MinHeap<Visit>) =>
      firstKey <= tickedAt ? this.threads.freeAtMs(tickedAt) : firstKey;
    return Math.min(atOf(this.#quick), atOf(this.#others));
  }
}
