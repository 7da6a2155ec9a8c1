// The points of each agent on the circle of 2^64 places. They depend on nothing but the identifier
// and the number of points, and cost some tenths of a millisecond to draw, while views change as
// agents come and go: so whoever builds rings keeps one `RingPoints` and passes it to each.

import type { Sha256 } from './assignment.ts';
import { MersenneTwister64 } from './mersenne-twister.ts';

/** What all agents of a cluster must have alike for their rings to agree. */
export interface RingOptions {
  /** Points of an agent of capacity 1. */
  readonly replicas: number;
  readonly sha256: Sha256;
}

/**
 * Most points of one agent: a capacity of 500 at 200 replicas. A capacity arrives in messages, and
 * an absurd one must cost a bounded time; beyond it all agents cut off alike.
 */
const pointsPerAgentMax = 100_000;

/** Points kept for later rings, 8 bytes each: 8 MiB, thousands of usual agents. */
const pointsKeptMax = 1_048_576;

/** max(1, round(capacity × replicas)), halves upward; a RangeError where that is no number. */
function pointCount(capacity: number, replicas: number): number {
  const points = Math.round(capacity * replicas);
  if (Number.isNaN(points)) throw new RangeError(`no capacity: ${capacity} x ${replicas}`);
  return Math.min(pointsPerAgentMax, Math.max(1, points));
}

/** The unsigned 64-bit integer at `offset`, most significant byte first. */
export function wordAt(bytes: Uint8Array, offset: number): bigint {
  return (BigInt(halfAt(bytes, offset)) << 32n) | BigInt(halfAt(bytes, offset + 4));
}

function halfAt(bytes: Uint8Array, at: number): number {
  const [a, b, c, d] = [bytes[at]!, bytes[at + 1]!, bytes[at + 2]!, bytes[at + 3]!];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/** Draws and keeps the points of agents; itself the options of the rings that share it. */
export class RingPoints implements RingOptions {
  readonly replicas: number;
  readonly sha256: Sha256;
  /** Filled by `points`; the agents longest kept leave when `pointsKeptMax` is passed. */
  readonly #kept = new Map<string, BigUint64Array>();
  #keptPoints = 0;

  constructor(options: RingOptions) {
    this.replicas = options.replicas;
    this.sha256 = options.sha256;
  }

  /**
   * The points of an agent in the order drawn, shared between callers: not to be written to. A
   * higher capacity only adds points, so the agent then takes hosts and gives none.
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
