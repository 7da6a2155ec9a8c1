// Judges by silence which members have failed: the only part of an agent that uses time to judge
// others. News of a member is a rising counter, heard from itself or from anyone who heard it, so
// a link that fails does not make its far end look dead. Time is passed in and is monotonic. The
// core keeps one, feeds it news, asks it on each turn whom it suspects, and makes each suspicion
// final for that incarnation; incarnations are the core's matter, not known here.

import { Mistakes } from './mistakes.ts';

/** What is known of a member under watch. */
interface Watched {
  counter: number;
  /** When the counter last rose, or later where an excuse says so. */
  lastNewsMs: number;
  /** Fixed when the silence begins, so that no decay brings a suspicion forward. */
  timeoutMs: number;
}

/**
 * Complete: who has died is suspected by everyone within twice suspectAfterMs of the last news.
 * Eventually accurate: who is late by less than that is, after two mistakes, suspected no more.
 */
export class FailureDetector {
  readonly #suspectAfterMs: number;
  readonly #mistakes: Mistakes;
  /** One entry a member in view; filled by `watch`, emptied by `forget`. */
  readonly #watched = new Map<string, Watched>();

  /** @param o.suspectAfterMs silence after which a member is suspected at the earliest. */
  constructor(o: { suspectAfterMs: number }) {
    if (!(o.suspectAfterMs > 0)) throw new RangeError(`no time-out: ${o.suspectAfterMs}`);
    this.#suspectAfterMs = o.suspectAfterMs;
    this.#mistakes = new Mistakes(o.suspectAfterMs);
  }

  /** A member, or a new incarnation of one, comes into view: known at this counter as of now. */
  watch(id: string, counter: number, monoMs: number): void {
    const timeoutMs = this.#mistakes.timeoutMs(id, monoMs);
    this.#watched.set(id, { counter, lastNewsMs: monoMs, timeoutMs });
  }

  /** The member left the view. Its mistakes stay in memory. */
  forget(id: string): void {
    this.#watched.delete(id);
  }

  /**
   * News of a member, direct or relayed. True if it counts: the member is watched and the counter
   * higher than known. A counter that circulates among others proves nothing about its origin.
   */
  news(id: string, counter: number, monoMs: number): boolean {
    const member = this.#watched.get(id);
    if (member === undefined || !(counter > member.counter)) return false;
    if (monoMs - member.lastNewsMs >= this.#suspectAfterMs) this.#mistakes.spared(id, monoMs);
    member.counter = counter;
    member.lastNewsMs = Math.max(member.lastNewsMs, monoMs);
    member.timeoutMs = this.#mistakes.timeoutMs(id, monoMs);
    return true;
  }

  /** The highest counter known of a watched member. */
  counter(id: string): number | undefined {
    return this.#watched.get(id)?.counter;
  }

  /** From when the member's silence counts: its last news, or later by an excuse. */
  lastNewsMs(id: string): number | undefined {
    return this.#watched.get(id)?.lastNewsMs;
  }

  /** Watched members silent for their time-out or longer, in the order they came into view. */
  suspected(monoMs: number): string[] {
    const silent: string[] = [];
    for (const [id, member] of this.#watched) {
      if (monoMs >= deadlineMs(member)) silent.push(id);
    }
    return silent;
  }

  /**
   * A suspected member was alive after all (its old incarnation was heard, or it said so): its
   * time-outs get longer, a silence under way included. To be called once a suspicion. Works for
   * members out of view, whose memory outlives `forget` and the next `watch`.
   */
  mistake(id: string, monoMs: number): void {
    this.#mistakes.add(id, monoMs);
    const member = this.#watched.get(id);
    if (member === undefined) return;
    member.timeoutMs = Math.max(member.timeoutMs, this.#mistakes.timeoutMs(id, monoMs));
  }

  /** The time-out of a silence that would begin now: suspectAfterMs to twice that. */
  timeoutMs(id: string, monoMs: number): number {
    return this.#mistakes.timeoutMs(id, monoMs);
  }

  /**
   * This agent itself stood still for a while, so the silence it found on waking is its own: news
   * may wait unread. Nobody's silence counts as longer than `graceMs` as of now; everyone thus has
   * at least its time-out less `graceMs` to be heard. Never brings a suspicion forward. Repeated
   * without end it suspects nobody: call it only on a stall, not on each turn.
   */
  excuse(monoMs: number, graceMs: number): void {
    if (!(graceMs >= 0)) throw new RangeError(`graceMs must not be negative: ${graceMs}`);
    for (const member of this.#watched.values()) {
      member.lastNewsMs = Math.max(member.lastNewsMs, monoMs - graceMs);
    }
  }

  /** When the next member falls under suspicion unless there is news; undefined if none is watched. */
  nextSuspicionMs(): number | undefined {
    let next: number | undefined;
    for (const member of this.#watched.values()) {
      next = Math.min(next ?? Number.POSITIVE_INFINITY, deadlineMs(member));
    }
    return next;
  }
}

/** One expression for both questions: rounding must not make a deadline come with no suspect. */
function deadlineMs(member: Watched): number {
  return member.lastNewsMs + member.timeoutMs;
}
