// The clock of the simulated networks, with the events in the order of their times. Promises settle
// only in events, and everything that follows from them is done before the next event, so a run
// with the same seed is the same run.

import { setImmediate as immediately } from 'node:timers/promises';
import type { Instant } from '../../../failure-detector/instant.ts';

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class VirtualTime {
  readonly #heap: Event[] = [];
  #nowMs = 0;
  #order = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  get now(): Instant {
    return { mono: this.#nowMs, wall: this.#nowMs };
  }

  after(ms: number, run: () => void): void {
    const event = { atMs: this.#nowMs + Math.max(0, ms), order: this.#order++, run };
    const heap = this.#heap;
    let i = heap.push(event) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = event;
  }

  /** Runs events until `isDone` holds, none is left, or the time is over. */
  async run(untilMs: number, isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      const event = this.#pop();
      if (!event || event.atMs > untilMs) return;
      this.#nowMs = event.atMs;
      event.run();
      await immediately();
    }
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
