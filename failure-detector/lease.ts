// The leases that this agent has from other members. A member removes this agent no earlier than
// `suspectAfterMs` after its latest news of it. That news was sent before it was received, so for
// the shorter `leaseMs` after *sending* the newest echoed heartbeat the member has not taken over
// any host. Counting from the time of sending makes message delays irrelevant.

import { elapsedMs, type Instant } from './instant.ts';

/**
 * Maximum number of heartbeats whose echo is awaited. A lease usually spans a few heartbeats. The
 * echo of a forgotten heartbeat grants nothing, so the limit is always safe.
 */
const sentMax = 1024;

/** The leases of one incarnation of this agent. */
export class Lease {
  readonly #leaseMs: number;
  /** Time of sending by counter, ascending. Filled by `sent`; above `sentMax` the oldest go. */
  readonly #sent = new Map<number, Instant>();
  #lastCounter = Number.NEGATIVE_INFINITY;
  /** The newest echo of each member; entries are removed by `forget`. */
  readonly #echoes = new Map<string, { counter: number; sentAt: Instant }>();

  /**
   * @param o.leaseMs 0.6 of suspectAfterMs. The rest covers the drift of clocks, up to a quarter
   *   each way, and the time to abort a request when the lease lapses.
   */
  constructor(o: { leaseMs: number }) {
    if (!(o.leaseMs > 0)) throw new RangeError(`leaseMs must be positive: ${o.leaseMs}`);
    this.#leaseMs = o.leaseMs;
  }

  /**
   * Records that this agent sends a heartbeat. `at` must be read before a socket gets the frame.
   * Throws if the counter does not rise, because echoes would be ambiguous.
   */
  sent(counter: number, at: Instant): void {
    if (!(counter > this.#lastCounter)) throw new Error(`heartbeat counter not above: ${counter}`);
    this.#lastCounter = counter;
    this.#sent.set(counter, at);
    for (const oldest of this.#sent.keys()) {
      if (this.#sent.size <= sentMax) break;
      this.#sent.delete(oldest);
    }
  }

  /**
   * Records an echo: member `by` itself, not a third agent, sent news of this incarnation with this
   * counter. Ignores a counter that is not above the member's last one, was never sent, or is
   * forgotten. Returns when the newest heartbeat that the member echoed was sent, if any.
   */
  echoed(by: string, counter: number): Instant | undefined {
    const known = this.#echoes.get(by);
    if (known !== undefined && counter <= known.counter) return known.sentAt;
    const sentAt = this.#sent.get(counter);
    if (sentAt === undefined) return known?.sentAt;
    this.#echoes.set(by, { counter, sentAt });
    return sentAt;
  }

  /** Whether the member has echoed a heartbeat that was sent less than leaseMs ago. */
  holds(by: string, now: Instant): boolean {
    return this.remainingMs(by, now) > 0;
  }

  /** Whether the member has echoed any heartbeat of this agent. */
  hasEchoOf(by: string): boolean {
    return this.#echoes.has(by);
  }

  /** Milliseconds until the lease lapses if the member sends no further echo; 0: no lease. */
  remainingMs(by: string, now: Instant): number {
    const echo = this.#echoes.get(by);
    if (echo === undefined) return 0;
    return Math.max(0, this.#leaseMs - elapsedMs(echo.sentAt, now));
  }

  /** Forgets the echoes of a member that left the view or has a new incarnation. */
  forget(by: string): void {
    this.#echoes.delete(by);
  }

  /** Forgets everything for a new incarnation of this agent. */
  reset(): void {
    this.#sent.clear();
    this.#echoes.clear();
    this.#lastCounter = Number.NEGATIVE_INFINITY;
  }
}
