// Computes and caches the points of each agent on the circle of 2^64 places. The capacity of an
// agent sets their number; where they lie depends only on the identifier. Computing them takes some
// tenths of a millisecond, so rings for successive views share one `RingPoints`.

import type { Sha256 } from './assignment.ts';
import { MersenneTwister64 } from './mersenne-twister.ts';

/** All agents of a cluster must use the same values, or their rings differ. */
export interface RingOptions {
  /** Points of an agent of capacity 1. */
  readonly replicas: number;
  readonly sha256: Sha256;
}

/**
 * Maximum number of points of one agent: a capacity of 500 with 200 replicas. Capacities arrive in
 * messages; the limit bounds the time that an absurd one costs. All agents apply the same limit.
 */
const pointsPerAgentMax = 100_000;

/** Maximum number of cached points, of 8 bytes each: 8 MiB, or some 5,000 agents with 200 points. */
const pointsKeptMax = 1_048_576;

/** max(1, round(capacity × replicas)), halves rounded up. Throws a RangeError for NaN. */
function pointCount(capacity: number, replicas: number): number {
  const points = Math.round(capacity * replicas);
  if (Number.isNaN(points)) {
    throw new RangeError(`invalid capacity or replicas: ${capacity}, ${replicas}`);
  }
  return Math.min(pointsPerAgentMax, Math.max(1, points));
}

/** The unsigned 64-bit big-endian integer at `offset`. */
export function wordAt(bytes: Uint8Array, offset: number): bigint {
  return (BigInt(halfAt(bytes, offset)) << 32n) | BigInt(halfAt(bytes, offset + 4));
}

function halfAt(bytes: Uint8Array, at: number): number {
  const [a, b, c, d] = [bytes[at]!, bytes[at + 1]!, bytes[at + 2]!, bytes[at + 3]!];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

export class RingPoints implements RingOptions {
  readonly replicas: number;
  readonly sha256: Sha256;
  /** Filled by `points`; the oldest entries are removed above `pointsKeptMax`. */
  readonly #kept = new Map<string, BigUint64Array>();
  #keptPoints = 0;

  constructor(options: RingOptions) {
    this.replicas = options.replicas;
    this.sha256 = options.sha256;
  }

  /**
   * The points of an agent, unsorted. The array is shared: callers must not change it. A higher
   * capacity only adds points, so the agent gains hosts and loses none.
   */
  points(id: string, capacity: number): BigUint64Array {
    const count = pointCount(capacity, this.replicas);
    const kept = this.#kept.get(id);
    if (kept !== undefined && kept.length >= count) return kept.subarray(0, count);
    const drawn = this.#draw(id, count);
    this.#keep(id, drawn);
    return drawn;
  }

  #draw(id: string, count: number): BigUint64Array {
    const digest = this.sha256(id);
    const twister = new MersenneTwister64([0, 8, 16, 24].map((offset) => wordAt(digest, offset)));
    const points = new BigUint64Array(count);
    for (let i = 0; i < count; i++) points[i] = twister.next();
    return points;
  }

  #keep(id: string, points: BigUint64Array): void {
    this.#forget(id);
    this.#kept.set(id, points);
    this.#keptPoints += points.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#keptPoints <= pointsKeptMax) break;
      this.#forget(oldest);
    }
  }

  #forget(id: string): void {
    this.#keptPoints -= this.#kept.get(id)?.length ?? 0;
    this.#kept.delete(id);
  }
}
