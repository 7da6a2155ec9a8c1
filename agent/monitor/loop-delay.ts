// How late the event loop is, of late: an agent that stood still an hour ago must not look slow for
// the rest of its life, and one that is asked several times a second must still know what the last
// seconds were like. So what is measured begins anew every ten seconds, when somebody asks, and what
// the ten before had counts along. Read by the agent for its status.

/** What is used of node's histogram of delays, which counts in nanoseconds. */
export interface DelayHistogram {
  enable(): boolean;
  disable(): boolean;
  percentile(share: number): number;
  reset(): void;
}

/** After so long a measurement ends. */
const WINDOW_MS = 10_000;
const PERCENTILE = 99;

export class LoopDelay {
  readonly #histogram: DelayHistogram;
  #beganAt = Number.NEGATIVE_INFINITY;
  /** Of the measurement before. */
  #beforeMs = 0;

  constructor(histogram: DelayHistogram) {
    this.#histogram = histogram;
  }

  enable(): void {
    this.#histogram.enable();
  }

  disable(): void {
    this.#histogram.disable();
  }

  /** @returns milliseconds, the 99th percentile of the present measurement or the one before */
  at(nowMs: number): number {
    const lately = this.#histogram.percentile(PERCENTILE) / 1e6;
    const lateMs = Number.isFinite(lately) ? lately : 0;
    const worstMs = Math.max(lateMs, this.#beforeMs);
    if (nowMs - this.#beganAt >= WINDOW_MS) {
      this.#beforeMs = lateMs;
      this.#beganAt = nowMs;
      this.#histogram.reset();
    }
    return worstMs;
  }
}
