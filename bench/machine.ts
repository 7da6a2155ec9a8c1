// What a figure was measured on: without the processor, its number and the load beside it, a figure
// of time says little. Nothing in it names the machine. Printed by every command of this folder,
// above its table and in its JSON.

import os from 'node:os';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  readonly system: string;
  /** Processes that ran or wanted to, on average over the last minute, when this was asked. */
  readonly load: number;
}

export function machine(): Machine {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model.trim() ?? 'unknown',
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    node: process.version,
    system: `${os.type()} ${os.arch()}`,
    load: loadNow(),
  };
}

/** The load as it is now; beside each figure, since others may use the machine meanwhile. */
export function loadNow(): number {
  return Math.round((os.loadavg()[0] ?? 0) * 10) / 10;
}

export function machineLine({ cpu, cores, memoryGiB, node, system, load }: Machine): string {
  return `${cores} × ${cpu}, ${memoryGiB} GiB, ${system}, Node ${node}, load ${load} at the start`;
}
