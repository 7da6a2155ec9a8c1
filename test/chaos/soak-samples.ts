// The resources that the agents of a soak use, sampled every few seconds: memory, file descriptors
// and threads from the kernel, copy lag and event-loop delay from `ubiring status`. It keeps a
// series for each agent and figure, which soak-slopes.ts then analyses.

import fs from 'node:fs';
import type { Cluster } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import type { Limit, Sample } from './soak-slopes.ts';
import { statusOf } from './storm-health.ts';

/** A figure with the growth that still counts as none. */
export interface Figure extends Limit {
  readonly unit: string;
}

/**
 * Limits of growth that count as flat: memory that would take a week to fill a gigabyte; a
 * descriptor or thread in some hours, of which a process has a thousand. Limits of normal swings:
 * the heap, by thirty MiB between two collections of an agent started by `launch` (a hundred
 * without its flags); kept connections of hosts; pool threads; recently fetched hosts; a busy
 * machine.
 */
export const figures = {
  rss: { unit: 'MiB', perHour: 6, swing: 48 },
  descriptors: { unit: 'fds', perHour: 0.5, swing: 24 },
  threads: { unit: 'threads', perHour: 0.2, swing: 4 },
  copyLag: { unit: 'hosts', perHour: 0.5, swing: 8 },
  loopDelay: { unit: 'ms', perHour: 5, swing: 50 },
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof figures;
export const figureNames = Object.keys(figures) as FigureName[];

/** The figures of one agent at one moment. */
export type Reading = Readonly<Record<FigureName, number>>;

export class SoakSamples {
  readonly #cluster: Cluster;
  readonly #series = new Map<string, Sample[]>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Samples each agent that answers. Returns the readings by agent. */
  async take(): Promise<ReadonlyMap<string, Reading>> {
    const readings = new Map<string, Reading>();
    for (const { id, pid, copyLag, loopDelayMs, uptimeMs } of await statusOf(this.#cluster)) {
      const used = usedBy(pid);
      if (used === null) continue;
      const reading = { ...used, copyLag, loopDelay: loopDelayMs };
      readings.set(id, reading);
      const at = { atMs: steadyMs(), life: pid, ageMs: uptimeMs };
      for (const name of figureNames) {
        this.#of(id, name).push({ ...at, value: reading[name] });
      }
    }
    return readings;
  }

  /** Samples of one agent and figure between two moments. */
  between(id: string, name: FigureName, fromMs: number, toMs: number): readonly Sample[] {
    return this.#of(id, name).filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  }

  #of(id: string, name: FigureName): Sample[] {
    const key = `${id} ${name}`;
    const series = this.#series.get(key) ?? [];
    this.#series.set(key, series);
    return series;
  }
}

/** Null if the process has ended meanwhile. */
function usedBy(pid: number): Pick<Reading, 'rss' | 'descriptors' | 'threads'> | null {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    const number = (name: string) => {
      return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
    };
    const descriptors = fs.readdirSync(`/proc/${pid}/fd`).length;
    return { rss: number('VmRSS') / 1024, descriptors, threads: number('Threads') };
  } catch {
    return null;
  }
}
