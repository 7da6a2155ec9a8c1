// The holder's side of the fetch right: how long each member can be counted on not to have removed
// us. A member removes us `suspectAfterMs` after its latest news of us at the earliest, and that
// news was sent before it was heard; so for `leaseMs`, which is shorter, from the *sending* of the
// newest heartbeat that it echoed, it has not taken over. Counting from the sending leaves no
// message delay to guess. The core feeds it and reads it before each request.

import { elapsedMs, type Instant } from './instant.ts';

/**
 * Heartbeats remembered until their echo comes. A lease lasts a few of them at sane settings; an
 * echo of one forgotten grants nothing, so the bound is safe whatever the settings.
 */
const sentMax = 1024;

/** Leases from all members, of one incarnation of this agent. */
export class Lease {
  readonly #leaseMs: number;
  /** Counter -> when sent, ascending. Filled by `sent`, the oldest leave at `sentMax`. */
  readonly #sent = new Map<number, Instant>();
  #lastCounter = Number.NEGATIVE_INFINITY;
  /** The newest echo by each member; emptied by `forget` as members leave the view. */
  readonly #echoes = new Map<string, { counter: number; sentAt: Instant }>();

  /**
   * @param o.leaseMs 0.6 of suspectAfterMs: the rest covers clocks that run
   *   apart, up to a quarter each way, and the abort of a request when the lease lapses.
   */
  constructor(o: { leaseMs: number }) {
    if (!(o.leaseMs > 0)) throw new RangeError(`leaseMs must be positive: ${o.leaseMs}`);
    this.#leaseMs = o.leaseMs;
  }

  /**
   * A heartbeat of mine with this counter goes out, to whomever. The clock must be read before it
   * is handed to any socket. Throws where the counter does not rise: echoes would be ambiguous.
   */
  sent(counter: number, at: Instant): void {
    if (!(counter > this.#lastCounter)) throw new Error(`heartbeat counter fell to ${counter}`);
    this.#lastCounter = counter;
    this.#sent.set(counter, at);
    for (const oldest of this.#sent.keys()) {
      if (this.#sent.size <= sentMax) break;
      this.#sent.delete(oldest);
    }
  }

  /**
   * Member `by` itself sent news of my present incarnation at this counter; what a third agent
   * says of its knowledge does not count. Ignored: a counter not higher than its last, one never
   * sent, one forgotten. Gives when the newest heartbeat that it echoed was sent, if it ever did.
   */
  echoed(by: string, counter: number): Instant | undefined {
    const known = this.#echoes.get(by);
    if (known !== undefined && counter <= known.counter) return known.sentAt;
    const sentAt = this.#sent.get(counter);
    if (sentAt === undefined) return known?.sentAt;
    this.#echoes.set(by, { counter, sentAt });
    return sentAt;
  }

  /** Whether the member's echo is of a heartbeat sent less than leaseMs ago. */
  holds(by: string, now: Instant): boolean {
    return this.remainingMs(by, now) > 0;
  }

  /** Whether the member has echoed any heartbeat of this agent. */
  hasEchoOf(by: string): boolean {
    return this.#echoes.has(by);
  }

  /** How long the lease from this member still lasts if it sends no further echo; 0 if none. */
  remainingMs(by: string, now: Instant): number {
    const echo = this.#echoes.get(by);
    if (echo === undefined) return 0;
    return Math.max(0, this.#leaseMs - elapsedMs(echo.sentAt, now));
  }

  /** The member left the view, or another incarnation of it came: its echoes are worth nothing. */
  forget(by: string): void {
    this.#echoes.delete(by);
  }

  /** A new incarnation of this agent: no heartbeat sent, no echo had. */
  reset(): void {
    this.#sent.clear();
    this.#echoes.clear();
    this.#lastCounter = Number.NEGATIVE_INFINITY;
  }
}
