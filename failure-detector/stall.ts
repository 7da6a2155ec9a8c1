// Whether this agent itself stood still: a stopped process, a suspended machine, a commit of many
// seconds. Others may have removed it by then, and messages that would tell so may still wait in
// its sockets, so it must not trust what it held. The core asks once a turn of its loop, before
// anything else, and on a stall is reborn (PROTOCOL, rule 4).

import { elapsedMs, type Instant } from './instant.ts';

/** Notices gaps between the turns of one loop. */
export class StallWatch {
  readonly #leaseMs: number;
  #last: Instant | undefined;

  /** @param o.leaseMs the standstill from which the agent counts as suspected. */
  constructor(o: { leaseMs: number }) {
    if (!(o.leaseMs > 0)) throw new RangeError(`leaseMs must be positive: ${o.leaseMs}`);
    this.#leaseMs = o.leaseMs;
  }

  /**
   * The loop has turned. `gapMs` is the time since its last turn, 0 at the first; `stalled` says
   * that it reached the lease. A shorter gap may still deserve `FailureDetector.excuse`.
   */
  turned(now: Instant): { stalled: boolean; gapMs: number } {
    const gapMs = this.#last === undefined ? 0 : elapsedMs(this.#last, now);
    this.#last = now;
    return { stalled: gapMs >= this.#leaseMs, gapMs };
  }
}
