// Counts the processes that the system has killed because memory ran out. Both the system and an
// operator end a process with SIGKILL; only this counter distinguishes the two.

import fs from 'node:fs';

/**
 * @returns processes killed for lack of memory since the machine started, including processes in
 *   containers; null if `file`, which only Linux has, cannot be read
 */
export function memoryKills(file = '/proc/vmstat'): number | null {
  try {
    const count = /^oom_kill (\d+)$/m.exec(fs.readFileSync(file, 'utf8'))?.[1];
    return count === undefined ? null : Number(count);
  } catch {
    return null;
  }
}
