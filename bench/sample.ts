// The arithmetic of measured figures: medians and quantiles instead of means, because one disturbed
// run must not decide, and the spread of each, without which a difference means nothing. Pure.

/** A median with its spread. */
export interface Spread {
  readonly count: number;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly p95: number;
}

/**
 * The value below which a share of the values lies, interpolated between neighbours.
 *
 * @param sorted - ascending, not empty
 * @param share - in [0, 1]
 */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/** Of values in any order; all `NaN` if there are none. */
export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    count: sorted.length,
    median: quantile(sorted, 0.5),
    least: quantile(sorted, 0),
    most: quantile(sorted, 1),
    p95: quantile(sorted, 0.95),
  };
}

/** Each value divided by its partner of the other series, which cancels common effects. */
export function ratios(of: readonly number[], over: readonly number[]): number[] {
  const count = Math.min(of.length, over.length);
  return Array.from({ length: count }, (_, k) => (of[k] ?? Number.NaN) / (over[k] ?? Number.NaN));
}

/** `1.23`, or `-` if nothing was measured. */
export function figureText(value: number, digits = 2): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}

/** `1.23 (1.20-1.31)`: the median and, if there were several, the least and the most. */
export function spreadText({ count, median, least, most }: Spread, digits = 2): string {
  const text = figureText(median, digits);
  return count <= 1 || Number.isNaN(median)
    ? text
    : `${text} (${least.toFixed(digits)}-${most.toFixed(digits)})`;
}
