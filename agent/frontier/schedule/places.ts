// Limits the number of concurrent visits. Each visit holds a place of one kind:
//
// - *ordinary*: `hostsVisitedMax` places, for hosts that are not known to be slow;
// - *late*: an ordinary visit whose request has been open for `LATE_MS`. It frees its ordinary
//   place, since a host without a record may turn out to be slow;
// - *slow*: for hosts known to be slow (`slow-hosts.ts`). They never use other places.
//
// Late visits are limited too, since each has a socket. If new hosts have used up this limit, hosts
// that were visited before and are not slow still get as many late visits as there are ordinary
// places. So slow new hosts, however many, keep out only new hosts. In total there are at most 9 ×
// threads visits. With fewer than 43 threads the minimums allow more: 256 to 380.

import { hostsVisitedMax } from './threads.ts';

export type Place = 'ordinary' | 'late' | 'slow';

/** The lines in which hosts wait for a visit (`host-schedule.ts`): new, visited before, slow. */
export type Line = 'new' | 'back' | 'slow';

/** Age of a request at which its visit becomes late. Most responses take a tenth of it. */
export const LATE_MS = 750;
/** Late visits for each thread: sockets are cheap, bodies are small or limited by `BodyBudget`. */
const LATE_PER_THREAD = 3;
const SLOW_PER_THREAD = 2;
/** Minimum of late places: with few threads there may still be many slow hosts. */
const LATE_MIN = 128;
const SLOW_MIN = 64;

export class Places<Visit extends { place: Place }> {
  #ordinaryMax = 0;
  #lateMax = 0;
  #slowMax = 0;
  readonly #taken = { ordinary: 0, late: 0, slow: 0 };
  /** Ordinary visits with an open request and its start, oldest first. Bound: the places. */
  readonly #requesting = new Map<Visit, number>();

  constructor(threads: number) {
    this.resize(threads);
  }

  /** Visits above the new numbers keep their places until they end. */
  resize(threads: number): void {
    this.#ordinaryMax = hostsVisitedMax(threads);
    this.#lateMax = Math.max(LATE_PER_THREAD * threads, LATE_MIN);
    this.#slowMax = Math.max(SLOW_PER_THREAD * threads, SLOW_MIN);
  }

  /** Whether a host of the line can start a visit. */
  mayEnter(line: Line): boolean {
    if (line === 'slow') return !this.isFull('slow');
    const lateMax = line === 'new' ? this.#lateMax : this.#lateMax + this.#ordinaryMax;
    return !this.isFull('ordinary') && this.#taken.late < lateMax;
  }

  /** Whether all places of the kind are taken, regardless of late visits. */
  isFull(place: 'ordinary' | 'slow'): boolean {
    return this.#taken[place] >= (place === 'slow' ? this.#slowMax : this.#ordinaryMax);
  }

  enter(visit: Visit): void {
    this.#taken[visit.place]++;
  }

  leave(visit: Visit): void {
    this.#requesting.delete(visit);
    this.#taken[visit.place]--;
  }

  move(visit: Visit, place: Place): void {
    this.leave(visit);
    visit.place = place;
    this.enter(visit);
  }

  asked(visit: Visit, now: number): void {
    if (visit.place === 'ordinary') this.#requesting.set(visit, now);
  }

  answered(visit: Visit): void {
    this.#requesting.delete(visit);
  }

  /** Makes ordinary visits late whose requests have been open for `LATE_MS`. */
  settle(now: number): void {
    for (const [visit, startedAt] of this.#requesting) {
      if (startedAt + LATE_MS > now) return;
      this.move(visit, 'late');
    }
  }

  /** When the next visit becomes late, which frees an ordinary place; Infinity: none will. */
  freeAtMs(): number {
    for (const startedAt of this.#requesting.values()) return startedAt + LATE_MS;
    return Infinity;
  }
}
