// What the agents of a soak use, every few seconds: memory, descriptors and threads as the kernel
// tells them, and what `ubiring status` says of copies and of the event loop. Kept as one series for
// each agent and figure, which soak-slopes.ts then looks through. Called by soak.ts.

import fs from 'node:fs';
import type { Cluster } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import type { Limit, Sample } from './soak-slopes.ts';
import { statusOf } from './storm-health.ts';

/** A figure that is watched, and what is about none of it. */
export interface Figure extends Limit {
  readonly unit: string;
}

/**
 * What still counts as flat: memory that would take a week to fill a gigabyte, a descriptor or a
 * thread in some hours, of which a process has a thousand. What goes up and down by itself: the heap,
 * by thirty MiB between two collections of an agent that was started as `launch` does (a hundred
 * without its flags); the kept connections of hosts that come and go; threads of the pool; hosts
 * just fetched from; a machine that is busy.
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

/** Of one agent at one moment. */
export type Reading = Readonly<Record<FigureName, number>>;

export class SoakSamples {
  readonly #cluster: Cluster;
  readonly #series = new Map<string, Sample[]>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Takes a sample of each agent that answers, and gives them by agent. */
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

  /** Of one agent and figure, between two moments. */
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

/** Null where the process has ended meanwhile. */
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
