// The machine of a measurement: without the processor, the number of cores and the load, a time
// means little. It contains no name of the machine. Every command in this folder prints it above
// its table and in its JSON.

import os from 'node:os';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  readonly system: string;
  /**
   * Average number of running or waiting processes during the last minute, at the time of the call.
   */
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

/** The current load, shown beside each figure, because others may use the machine meanwhile. */
export function loadNow(): number {
  return Math.round((os.loadavg()[0] ?? 0) * 10) / 10;
}

export function machineLine({ cpu, cores, memoryGiB, node, system, load }: Machine): string {
  return `${cores} × ${cpu}, ${memoryGiB} GiB, ${system}, Node ${node}, load ${load} at the start`;
}
