// Logs turns of the main loop that took so long that heartbeats and other hosts waited for them.
// The lines explain gaps between requests. They are at least ten seconds apart, and each describes
// the slowest turn since the line before.

import type { Logger } from 'pino';

/** Minimum time between lines. Slow turns come in series, and one line for each is enough. */
const LINES_APART_MS = 10_000;

interface SlowTurn {
  readonly tookMs: number;
  /** Number of inputs of each type. */
  readonly inputs: Readonly<Record<string, number>>;
}

export class SlowTurns {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #nowMs: () => number;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #slowest: SlowTurn | null = null;
  #turns = 0;

  constructor(log: Pick<Logger, 'warn'>, nowMs: () => number) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  note(tookMs: number, inputs: readonly { readonly type: string }[]): void {
    this.#turns++;
    if (tookMs > (this.#slowest?.tookMs ?? 0)) this.#slowest = { tookMs, inputs: count(inputs) };
    const now = this.#nowMs();
    if (now - this.#loggedAt < LINES_APART_MS) return;
    this.#log.warn(
      { ...this.#slowest, tookMs: Math.round(this.#slowest?.tookMs ?? 0), turns: this.#turns },
      'the main loop was blocked by its own work, or the process was suspended',
    );
    this.#loggedAt = now;
    this.#slowest = null;
    this.#turns = 0;
  }
}

function count(inputs: readonly { readonly type: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { type } of inputs) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}
