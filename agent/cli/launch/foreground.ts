// Whether this process may use its terminal. The system suspends a process in the background that
// reads keys or changes the mode of the terminal, for example one that was started with `&`.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

export function isForeground(): boolean {
  const [group, terminalGroup] = groups();
  return group !== undefined && group !== '' && group === terminalGroup;
}

/** The process group of this process, and the one in the foreground of its terminal. */
function groups(): readonly (string | undefined)[] {
  try {
    const line = fs.readFileSync('/proc/self/stat', 'utf8');
    // The name before is in parentheses and may contain any character.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return [fields[2], fields[5]];
  } catch {
    const asked = ['-o', 'pgid=,tpgid=', '-p', String(process.pid)];
    const { stdout } = spawnSync('ps', asked, { encoding: 'utf8' });
    return stdout?.trim().split(/\s+/) ?? [];
  }
}
