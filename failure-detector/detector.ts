// Suspects members that are silent for too long (`mistakes.ts` has the time-out). News of a member is
// a rising counter. It may come from the member itself or from another agent, so a broken link does
// not make a member look dead. All times are monotonic and passed in. Incarnations are not known here.

import { Mistakes } from './mistakes.ts';

interface Watched {
  counter: number;
  /** When the counter last rose, or a later time set by `excuse`. */
  lastNewsMs: number;
  /** Fixed when the silence begins, so that an expiring mistake does not shorten it. */
  timeoutMs: number;
}

/**
 * Complete: every agent suspects a dead member within twice suspectAfterMs after the last news.
 * Eventually accurate: after two mistakes, a member whose news is less late is not suspected.
 */
export class FailureDetector {
  readonly #suspectAfterMs: number;
  readonly #mistakes: Mistakes;
  /** One entry for each member in view; filled by `watch`, emptied by `forget`. */
  readonly #watched = new Map<string, Watched>();

  /** @param o.suspectAfterMs the shortest silence after which a member is suspected */
  constructor(o: { suspectAfterMs: number }) {
    if (!(o.suspectAfterMs > 0)) {
      throw new RangeError(`suspectAfterMs must be positive: ${o.suspectAfterMs}`);
    }
    this.#suspectAfterMs = o.suspectAfterMs;
    this.#mistakes = new Mistakes(o.suspectAfterMs);
  }

  /** Starts to watch a member, or a new incarnation of it, with this counter as its latest news. */
  watch(id: string, counter: number, monoMs: number): void {
    const timeoutMs = this.#mistakes.timeoutMs(id, monoMs);
    this.#watched.set(id, { counter, lastNewsMs: monoMs, timeoutMs });
  }

  /** Stops watching a member. Its mistakes are kept. */
  forget(id: string): void {
    this.#watched.delete(id);
  }

  /**
   * Records news of a member, direct or relayed. Returns whether it counts: the member is watched
   * and the counter is above the last one. A repeated counter does not show that a member is alive.
   */
  news(id: string, counter: number, monoMs: number): boolean {
    const member = this.#watched.get(id);
    if (member === undefined || !(counter > member.counter)) return false;
    if (monoMs - member.lastNewsMs >= this.#suspectAfterMs) this.#mistakes.late(id, monoMs);
    member.counter = counter;
    member.lastNewsMs = Math.max(member.lastNewsMs, monoMs);
    member.timeoutMs = this.#mistakes.timeoutMs(id, monoMs);
    return true;
  }

  /** The highest counter of a watched member. */
  counter(id: string): number | undefined {
    return this.#watched.get(id)?.counter;
  }

  /** When the silence of a watched member began: its last news, or a later time set by `excuse`. */
  lastNewsMs(id: string): number | undefined {
    return this.#watched.get(id)?.lastNewsMs;
  }

  /** The members whose silence has reached their time-out, in the order in which they came. */
  suspected(monoMs: number): string[] {
    const silent: string[] = [];
    for (const [id, member] of this.#watched) {
      if (monoMs >= member.lastNewsMs + member.timeoutMs) silent.push(id);
    }
    return silent;
  }

  /**
   * Records that a suspected member was alive. Its time-outs get longer, including that of the
   * current silence. Must be called once for each wrong suspicion. The member need not be watched.
   */
  mistake(id: string, monoMs: number): void {
    this.#mistakes.add(id, monoMs);
    const member = this.#watched.get(id);
    if (member === undefined) return;
    member.timeoutMs = Math.max(member.timeoutMs, this.#mistakes.timeoutMs(id, monoMs));
  }

  /**
   * Limits the current silence of each member to `graceMs`, because this agent itself stood still
   * and its news may be unread. Each member then has at least its time-out less `graceMs` left.
   * Never shortens a silence's deadline. To be called only after a stall: frequent calls would
   * prevent all suspicions.
   */
  excuse(monoMs: number, graceMs: number): void {
    if (!(graceMs >= 0)) throw new RangeError(`graceMs must not be negative: ${graceMs}`);
    for (const member of this.#watched.values()) {
      member.lastNewsMs = Math.max(member.lastNewsMs, monoMs - graceMs);
    }
  }
}
