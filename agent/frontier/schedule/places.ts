// The places for visits, of which an agent has a bounded number. A visit holds one of three kinds:
//
// - *ordinary*: `hostsVisitedMax` of them, for hosts that are not known as slow;
// - *late*: an ordinary visit whose request has become old. Its ordinary place is free for another
//   host, for a host without a record may be anything;
// - *slow*: for hosts known as slow (`slow-hosts.ts`), which never take a place from others.
//
// Late visits have a bound as well, since each has a socket. Where new hosts have used it up, those
// that were visited before and are not slow still find room for as many as there are ordinary
// places; so new hosts that drip, however many, keep out new hosts only. All together: at most
// 9 × threads visits, or 256 where there are few threads.

import { hostsVisitedMax } from './threads.ts';

export type Place = 'ordinary' | 'late' | 'slow';

/** Where hosts stand that wait for a visit: new ones, ready ones visited before, slow ones. */
export type Line = 'new' | 'back' | 'slow';

/** After so long a request makes its visit a late one. Most answers take a tenth of it. */
export const LATE_MS = 750;
/** Sockets cost little, and their bodies are small or count in `BodyBudget`. */
const LATE_PER_THREAD = 3;
const SLOW_PER_THREAD = 2;
/** With few threads, there may be many slow hosts all the same. */
const LATE_MIN = 128;
const SLOW_MIN = 64;

export class Places<Visit extends { place: Place }> {
  readonly #ordinaryMax: number;
  readonly #lateMax: number;
  readonly #slowMax: number;
  readonly #taken = { ordinary: 0, late: 0, slow: 0 };
  /** Ordinary visits with an open request and when it began, the oldest first. Bound: the places. */
  readonly #asking = new Map<Visit, number>();

  constructor(threads: number) {
    this.#ordinaryMax = hostsVisitedMax(threads);
    this.#lateMax = Math.max(LATE_PER_THREAD * threads, LATE_MIN);
    this.#slowMax = Math.max(SLOW_PER_THREAD * threads, SLOW_MIN);
  }

  /** Whether a host of that line finds a place. */
  mayEnter(line: Line): boolean {
    if (line === 'slow') return !this.isFull('slow');
    const lateMax = line === 'new' ? this.#lateMax : this.#lateMax + this.#ordinaryMax;
    return !this.isFull('ordinary') && this.#taken.late < lateMax;
  }

  /** Whether all places of that kind are taken, however many late visits there are. */
  isFull(place: 'ordinary' | 'slow'): boolean {
    return this.#taken[place] >= (place === 'slow' ? this.#slowMax : this.#ordinaryMax);
  }

  enter(visit: Visit): void {
    this.#taken[visit.place]++;
  }

  leave(visit: Visit): void {
    this.#asking.delete(visit);
    this.#taken[visit.place]--;
  }

  move(visit: Visit, place: Place): void {
    this.leave(visit);
    visit.place = place;
    this.enter(visit);
  }

  asked(visit: Visit, now: number): void {
    if (visit.place === 'ordinary') this.#asking.set(visit, now);
  }

  answered(visit: Visit): void {
    this.#asking.delete(visit);
  }

  /** Makes those visits late whose requests have become old. */
  settle(now: number): void {
    for (const [visit, startedAt] of this.#asking) {
      if (startedAt + LATE_MS > now) return;
      this.move(visit, 'late');
    }
  }

  /** When the next ordinary place comes free without the end of a request or a visit. */
  freeAtMs(): number {
    for (const startedAt of this.#asking.values()) return startedAt + LATE_MS;
    return Infinity;
  }
}
