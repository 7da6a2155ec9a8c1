// What the agents of a storm stand on, so that it can be taken from them: each is reached over a
// proxy, lives by a wall clock of its own, and keeps its files on a small disk of its own, behind a
// library that can make every write fail. Clocks and disks are there only where the machine has what
// they need (`needs.ts`). Made before the cluster by storm.ts and soak.ts, and given to their faults.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Cluster, ClusterOptions } from './harness.ts';
import { needs, obstacleTo } from './needs.ts';
import { type BadDisk, badDisk, SmallDisk } from './storage-disks.ts';
import { StormNetwork } from './storm-network.ts';
import { type Fault, type FaultKind, weights } from './storm-plan.ts';
import { WallClock } from './time-clocks.ts';

interface Cleaning {
  after(clean: () => Promise<void> | void): void;
}

export interface GroundOptions {
  /** a1 to aN. */
  readonly agents: number;
  readonly seed: number;
  /** Of each agent's disk; null: the machine's, which is not filled. */
  readonly diskKib: number | null;
}

export class StormGround {
  readonly network: StormNetwork;
  readonly #directory: string;
  readonly #diskKib: number | null;
  readonly #clocks = new Map<string, WallClock>();
  readonly #disks = new Map<string, SmallDisk>();
  readonly #badDisk: BadDisk | null;

  private constructor(
    network: StormNetwork,
    directory: string,
    bad: BadDisk | null,
    { agents, diskKib }: GroundOptions,
  ) {
    this.network = network;
    this.#directory = directory;
    this.#badDisk = bad;
    this.#diskKib = obstacleTo('mount') === null ? diskKib : null;
    if (obstacleTo('faketime') !== null) return;
    for (let k = 1; k <= agents; k++) {
      this.#clocks.set(`a${k}`, new WallClock(path.join(directory, `clock-a${k}`)));
    }
  }

  static async make(t: Cleaning, options: GroundOptions): Promise<StormGround> {
    const network = await StormNetwork.start(options.agents, options.seed);
    t.after(() => network.stop());
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-ground-'));
    t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
    const bad = badDisk(t);
    return new StormGround(network, directory, typeof bad === 'string' ? null : bad, options);
  }

  /** What the cluster has to be made with. */
  get options(): Pick<ClusterOptions, 'listeners' | 'env'> {
    return { listeners: this.network.listeners, env: (id) => this.#env(id) };
  }

  /** Mounts the disks; before the agents are started. */
  mount(t: Cleaning, { dataDir, ids }: Pick<Cluster, 'dataDir' | 'ids'>): void {
    if (this.#diskKib === null) return;
    for (const id of ids) {
      const disk = SmallDisk.mount(t, path.join(dataDir, id), this.#diskKib);
      if (typeof disk !== 'string') this.#disks.set(id, disk);
    }
  }

  /** Whether the machine has what the fault needs. */
  has(fault: Fault): boolean {
    if (fault.kind === 'clock') return this.#clocks.size > 0;
    if (fault.kind !== 'disk') return true;
    return fault.how === 'full' ? this.#diskKib !== null : this.#badDisk !== null;
  }

  /** Of which kinds there is any fault that the machine has what it needs for. */
  get kinds(): readonly FaultKind[] {
    const lacking: FaultKind[] = this.#clocks.size > 0 ? [] : ['clock'];
    if (this.#diskKib === null && this.#badDisk === null) lacking.push('disk');
    return (Object.keys(weights) as FaultKind[]).filter((kind) => !lacking.includes(kind));
  }

  moveClock(id: string, byMs: number): void {
    this.#clocks.get(id)!.moveBy(byMs / 1000);
  }

  /** Until what it gives is called. */
  breakDisk(id: string, how: 'full' | 'broken'): () => void {
    if (how === 'full') {
      const disk = this.#disks.get(id)!;
      disk.fill();
      return () => disk.empty();
    }
    const trigger = this.#trigger(id);
    fs.writeFileSync(trigger, '');
    return () => fs.rmSync(trigger);
  }

  #env(id: string): Record<string, string> {
    const parts = [
      this.#badDisk?.env({ failsWhen: this.#trigger(id) }) ?? {},
      this.#clocks.get(id)?.env() ?? {},
    ];
    const libraries = parts.flatMap(({ LD_PRELOAD }) => LD_PRELOAD ?? []);
    const preload = libraries.length === 0 ? {} : { LD_PRELOAD: libraries.join(':') };
    return Object.assign({}, ...parts, preload) as Record<string, string>;
  }

  #trigger(id: string): string {
    return path.join(this.#directory, `broken-${id}`);
  }
}

/** Which faults cannot be drawn on this machine and why, for a storm's first line; mostly empty. */
export function without(): string {
  const faults = { mount: 'full disks', compiler: 'broken disks', faketime: 'clocks' } as const;
  const lacking = needs.flatMap((need) => {
    const obstacle = obstacleTo(need);
    return obstacle === null ? [] : [` (no ${faults[need]}: ${obstacle})`];
  });
  return lacking.join('');
}
