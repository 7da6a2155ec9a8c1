// Detects that this agent itself stood still: a stopped process, a suspended machine, or a commit
// that took many seconds. Others may have removed it meanwhile, and the messages that say so may
// still be unread, so it must not rely on its state (PROTOCOL, rule 4).

import { elapsedMs, type Instant } from './instant.ts';

/** Measures the gaps between the turns of one event loop. */
export class StallWatch {
  readonly #leaseMs: number;
  #last: Instant | undefined;

  /** @param o.leaseMs a gap of this length or longer is a stall */
  constructor(o: { leaseMs: number }) {
    if (!(o.leaseMs > 0)) throw new RangeError(`leaseMs must be positive: ${o.leaseMs}`);
    this.#leaseMs = o.leaseMs;
  }

  /**
   * Must be called once a turn. `gapMs` is the time since the previous turn, 0 at the first;
   * `stalled` is true if it reached `leaseMs`. Shorter gaps may need `FailureDetector.excuse`.
   */
  turned(now: Instant): { stalled: boolean; gapMs: number } {
    const gapMs = this.#last === undefined ? 0 : elapsedMs(this.#last, now);
    this.#last = now;
    return { stalled: gapMs >= this.#leaseMs, gapMs };
  }
}
