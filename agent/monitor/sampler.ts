// Takes samples of an agent's counters at regular intervals, for charts of the past.

const SAMPLE_MS = 10_000;

/** @param ended - ends the samples when it settles */
export function sampleRegularly(
  take: () => void,
  ended: Promise<unknown>,
  sampleMs = SAMPLE_MS,
): void {
  const timer = setInterval(take, sampleMs);
  timer.unref();
  void ended.then(() => clearInterval(timer));
}
