// Measures the recent delay of the event loop. An agent that was blocked an hour ago must not look
// slow for ever, and one that is asked several times a second must still report the last seconds. A
// new measurement therefore starts at the first query after ten seconds, and results include the
// previous measurement.

/** The part of Node's histogram of delays that is used. It counts in nanoseconds. */
interface DelayHistogram {
  enable(): boolean;
  disable(): boolean;
  percentile(share: number): number;
  reset(): void;
}

/** Minimum duration of a measurement. */
const WINDOW_MS = 10_000;
const PERCENTILE = 99;

export class LoopDelay {
  readonly #histogram: DelayHistogram;
  #beganAt = Number.NEGATIVE_INFINITY;
  /** Result of the previous measurement. */
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

  /** @returns milliseconds, the 99th percentile of the current or the previous measurement */
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
