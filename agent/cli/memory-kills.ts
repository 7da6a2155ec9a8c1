// Whether the system has killed processes because memory ran out. It does so by SIGKILL, as whoever
// kills an agent to see the others take over; only the system's own count tells the two apart.

import fs from 'node:fs';

/**
 * @param file - Linux's; where it is missing nothing is known
 * @returns processes killed for want of memory since the machine started, those of containers included
 */
export function memoryKills(file = '/proc/vmstat'): number | null {
  try {
    const count = /^oom_kill (\d+)$/m.exec(fs.readFileSync(file, 'utf8'))?.[1];
    return count === undefined ? null : Number(count);
  } catch {
    return null;
  }
}
