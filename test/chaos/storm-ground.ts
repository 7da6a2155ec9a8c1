// The parts on which the agents of a storm rely, so that faults can affect them. Each agent is
// reached through a proxy, has its own wall clock, and keeps its files on its own small disk,
// behind a library that can make every write fail. Clocks and disks exist only if the machine
// supports them (`needs.ts`). storm.ts and soak.ts create it before the cluster.

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
  /** Size of each agent's disk; null: the disk of the machine, which is never filled. */
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

  /** The options that the cluster needs. */
  get options(): Pick<ClusterOptions, 'listeners' | 'env'> {
    return { listeners: this.network.listeners, env: (id) => this.#env(id) };
  }

  /** Mounts the disks. Call it before the agents start. */
  mount(t: Cleaning, { dataDir, ids }: Pick<Cluster, 'dataDir' | 'ids'>): void {
    if (this.#diskKib === null) return;
    for (const id of ids) {
      const disk = SmallDisk.mount(t, path.join(dataDir, id), this.#diskKib);
      if (typeof disk !== 'string') this.#disks.set(id, disk);
    }
  }

  /** Whether the machine supports the fault. */
  has(fault: Fault): boolean {
    if (fault.kind === 'clock') return this.#clocks.size > 0;
    if (fault.kind !== 'disk') return true;
    return fault.how === 'full' ? this.#diskKib !== null : this.#badDisk !== null;
  }

  /** Kinds of faults of which the machine supports at least one. */
  get kinds(): readonly FaultKind[] {
    const lacking: FaultKind[] = this.#clocks.size > 0 ? [] : ['clock'];
    if (this.#diskKib === null && this.#badDisk === null) lacking.push('disk');
    return (Object.keys(weights) as FaultKind[]).filter((kind) => !lacking.includes(kind));
  }

  moveClock(id: string, byMs: number): void {
    this.#clocks.get(id)!.moveBy(byMs / 1000);
  }

  /** Breaks the disk until the returned function is called. */
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

/**
 * The faults that this machine does not support and why, for a storm's first line; usually empty.
 */
export function without(): string {
  const faults = { mount: 'full disks', compiler: 'broken disks', faketime: 'clocks' } as const;
  const lacking = needs.flatMap((need) => {
    const obstacle = obstacleTo(need);
    return obstacle === null ? [] : [` (no ${faults[need]}: ${obstacle})`];
  });
  return lacking.join('');
}
