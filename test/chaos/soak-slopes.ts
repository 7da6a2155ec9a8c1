// Whether a figure that is sampled for hours grows: the slope of a line through it, how sure that
// slope is, and what is still nothing. Made for figures that jump: medians instead of means, and
// only moments of like age are compared, since a process that was started again begins small. Pure.
// Used by soak.ts for each agent and each figure.

import { quantile } from '../../bench/sample.ts';
import { Random } from '../simulation/random.ts';

export interface Sample {
  /** On any steady clock. */
  readonly atMs: number;
  /** The process: another one, another number. */
  readonly life: number;
  /** Since that process began. */
  readonly ageMs: number;
  readonly value: number;
}

export interface Slope {
  /** Median of the value. */
  readonly level: number;
  /** Growth an hour; `NaN` where there are too few samples to say. */
  readonly perHour: number;
  /** 99 in 100 such series have theirs between these. */
  readonly low: number;
  readonly high: number;
  /** From the first moment that was compared to the last. */
  readonly spanMs: number;
}

/** `unclear`: the interval reaches beyond the limit, as far as can be said from so short a time. */
export type Trend = 'flat' | 'grows' | 'unclear';

export interface Limit {
  /** What is still about none, in units an hour. */
  readonly perHour: number;
  /** By how much the figure goes up and down by itself, which over a short time looks like a slope. */
  readonly swing: number;
}

const hourMs = 3_600_000;
/** Bins of a series, so that what hangs together from one sample to the next is one. */
const binsMax = 120;
/** Neighbours that are drawn together, for the same reason. */
const blockBins = 6;
const drawings = 200;
/** Of the whole time: moments closer than this say little about a slope. */
const gapShareMin = 0.1;
/** Of the warm-up: ages that differ by no more are alike. */
const ageShareMax = 0.25;

/**
 * The slope after Theil and Sen, the median over pairs of moments, with an interval by drawing
 * blocks of the series again and again (the same ones each time).
 *
 * @param warmUpMs - a process that is older than this counts as being as large as it will be
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
 * Over a short time one swing may lie in it from its bottom to its top; of the many in some hours
 * each hides others, and the slope that is left of them shrinks with the root of their number.
 *
 * @returns what is still about none over so long a time, in units an hour
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

/** One point for the samples of a bin that are of one process: their medians. */
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

/** The slopes between all points that may be compared. */
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

  /** Median over the pairs of some points, of which each may be there several times. */
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

/** As many points as there are, in runs of neighbours that begin anywhere. */
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
