// Decides whether a figure that is sampled for hours grows: the slope of a line through it, the
// confidence of the slope, and the slope that counts as none. It is made for figures that jump. It
// uses medians instead of means and compares only moments of similar age, because a restarted
// process begins small. Pure. soak.ts uses it for each agent and figure.

import { quantile } from '../../bench/sample.ts';
import { Random } from '../simulation/random.ts';

export interface Sample {
  /** On any steady clock. */
  readonly atMs: number;
  /** Number of the process. A restart changes it. */
  readonly life: number;
  /** Since the start of that process. */
  readonly ageMs: number;
  readonly value: number;
}

export interface Slope {
  /** Median of the values. */
  readonly level: number;
  /** Growth per hour; `NaN` if there are too few samples. */
  readonly perHour: number;
  /** 99 % confidence interval of the slope. */
  readonly low: number;
  readonly high: number;
  /** From the first compared moment to the last. */
  readonly spanMs: number;
}

/** `unclear`: the interval reaches beyond the limit, so the time is too short to decide. */
export type Trend = 'flat' | 'grows' | 'unclear';

export interface Limit {
  /** Growth that counts as none, in units per hour. */
  readonly perHour: number;
  /** Normal swing of the figure, which looks like a slope over a short time. */
  readonly swing: number;
}

const hourMs = 3_600_000;
/** Number of bins of a series. Correlated neighbouring samples become one. */
const binsMax = 120;
/** Neighbouring bins that are drawn together, for the same reason. */
const blockBins = 6;
const drawings = 200;
/** Share of the whole time. Moments closer than this say little about a slope. */
const gapShareMin = 0.1;
/** Share of the warm-up. Ages that differ by no more count as similar. */
const ageShareMax = 0.25;

/**
 * The Theil-Sen slope, the median over pairs of moments. The interval comes from repeated drawing
 * of blocks of the series (always the same blocks).
 *
 * @param warmUpMs - a process older than this counts as fully grown
 */
export function slopeOf(samples: readonly Sample[], warmUpMs: number): Slope {
  const points = binned(samples);
  const level = medianOf(samples.map(({ value }) => value));
  const pairs = new Pairs(points, warmUpMs);
  const perHour = pairs.slope(points.map((_, k) => k));
  const random = new Random(1);
  const drawn: number[] = [];
  for (let k = 0; k < drawings && points.length > 0; k++) {
    const slope = pairs.slope(drawBlocks(points.length, random));
    if (!Number.isNaN(slope)) drawn.push(slope);
  }
  drawn.sort((a, b) => a - b);
  const [low, high] = [quantile(drawn, 0.005), quantile(drawn, 0.995)];
  return { level, perHour, low, high, spanMs: pairs.spanMs };
}

/**
 * A short time may contain one swing from bottom to top. In some hours many swings hide each other,
 * and the remaining slope shrinks with the root of their number.
 *
 * @returns the growth that counts as none for this time, in units per hour
 */
export function limitOf({ perHour, swing }: Limit, spanMs: number): number {
  const hours = spanMs / hourMs;
  return perHour + swing / hours / Math.sqrt(Math.max(1, hours));
}

export function trendOf({ perHour, low, high, spanMs }: Slope, limit: Limit): Trend {
  const most = limitOf(limit, spanMs);
  if (Number.isNaN(perHour)) return 'unclear';
  if (low > most) return 'grows';
  return high <= most ? 'flat' : 'unclear';
}

/** One point for the samples of a bin that belong to one process: their medians. */
function binned(samples: readonly Sample[]): Sample[] {
  const firstMs = Math.min(...samples.map(({ atMs }) => atMs));
  const binMs = Math.max(1, spanOf(samples) / binsMax);
  const bins = Map.groupBy(samples, ({ atMs, life }) => {
    return `${life} ${Math.floor((atMs - firstMs) / binMs)}`;
  });
  return [...bins.values()].map((bin) => ({
    atMs: medianOf(bin.map(({ atMs }) => atMs)),
    life: bin[0]!.life,
    ageMs: medianOf(bin.map(({ ageMs }) => ageMs)),
    value: medianOf(bin.map(({ value }) => value)),
  }));
}

/** The slopes between all comparable points. */
class Pairs {
  readonly spanMs: number;
  readonly #slopes: Float64Array;
  readonly #count: number;

  constructor(points: readonly Sample[], warmUpMs: number) {
    const grown = points.map(({ ageMs }) => Math.min(ageMs, warmUpMs));
    const alike = (i: number, j: number) =>
      Math.abs(grown[i]! - grown[j]!) <= ageShareMax * warmUpMs;
    const gapMsMin = gapShareMin * spanOf(points);
    const compared = new Set<Sample>();
    this.#count = points.length;
    this.#slopes = new Float64Array(points.length ** 2).fill(Number.NaN);
    for (const [i, one] of points.entries()) {
      for (const [j, other] of points.entries()) {
        const gapMs = other.atMs - one.atMs;
        if (gapMs <= gapMsMin || !alike(i, j)) continue;
        const slope = ((other.value - one.value) / gapMs) * hourMs;
        this.#slopes[i * this.#count + j] = slope;
        this.#slopes[j * this.#count + i] = slope;
        compared.add(one).add(other);
      }
    }
    this.spanMs = spanOf([...compared]);
  }

  /** Median over the pairs of the given points, which may repeat. */
  slope(of: readonly number[]): number {
    const slopes: number[] = [];
    for (let a = 0; a < of.length; a++) {
      for (let b = a + 1; b < of.length; b++) {
        const slope = this.#slopes[of[a]! * this.#count + of[b]!]!;
        if (!Number.isNaN(slope)) slopes.push(slope);
      }
    }
    return medianOf(slopes);
  }
}

/** Draws as many points as there are, in runs of neighbours with random starts. */
function drawBlocks(count: number, random: Random): number[] {
  const drawn: number[] = [];
  while (drawn.length < count) {
    const first = random.whole(0, count - 1);
    for (let k = 0; k < blockBins && drawn.length < count; k++) drawn.push((first + k) % count);
  }
  return drawn;
}

function spanOf(samples: readonly Sample[]): number {
  if (samples.length === 0) return 0;
  const times = samples.map(({ atMs }) => atMs);
  return Math.max(...times) - Math.min(...times);
}

function medianOf(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
