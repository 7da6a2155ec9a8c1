// Counts the processes that the system has killed because memory ran out. The system uses SIGKILL, and
// so does a person who kills an agent as a test. Only the system's own count tells the two apart.

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
