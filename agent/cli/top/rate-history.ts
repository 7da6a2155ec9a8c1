// The rates of the last minute, of each agent and of all, as small graphs of block characters. A
// frame may take seconds if an agent is silent, so each column of a graph is a part of the minute and
// not a sample.

/** The time that a graph shows. */
const WINDOW_MS = 60_000;

const BLOCKS = '▁▂▃▄▅▆▇█';

interface Sample {
  readonly at: number;
  readonly rate: number;
}

export class RateHistory {
  /** By agent. `add` fills it and drops what is older than the window, and agents that are gone. */
  readonly #samples = new Map<string, Sample[]>();

  /**
   * @param now - monotonic milliseconds
   * @param rates - of all agents that answer
   */
  add(now: number, rates: ReadonlyMap<string, number>): void {
    for (const id of this.#samples.keys()) if (!rates.has(id)) this.#samples.delete(id);
    for (const [id, rate] of rates) {
      const samples = this.#samples.get(id) ?? [];
      samples.push({ at: now, rate });
      // One sample before the window says what its first column shows.
      while (samples.length > 1 && now - samples[1]!.at >= WINDOW_MS) samples.shift();
      this.#samples.set(id, samples);
    }
  }

  /** The mean rate in each of `columns` parts of the last minute; null before the first sample. */
  of(id: string, now: number, columns: number): (number | null)[] {
    const samples = this.#samples.get(id) ?? [];
    const step = WINDOW_MS / columns;
    return Array.from({ length: columns }, (_, k) => {
      const [from, to] = [now - WINDOW_MS + k * step, now - WINDOW_MS + (k + 1) * step];
      const within = samples.filter(({ at }) => at > from && at <= to);
      if (within.length === 0) return samples.findLast(({ at }) => at <= from)?.rate ?? null;
      return within.reduce((sum, { rate }) => sum + rate, 0) / within.length;
    });
  }
}

/** @param max - the value of a full block */
export function sparkline(values: readonly (number | null)[], max: number): string {
  return values
    .map((value) => {
      if (value === null) return ' ';
      const level = max > 0 ? Math.ceil((value / max) * BLOCKS.length) - 1 : 0;
      return BLOCKS[Math.min(Math.max(level, 0), BLOCKS.length - 1)]!;
    })
    .join('');
}
