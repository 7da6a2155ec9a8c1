// Whether an agent runs on a data directory of this machine, and as which process. Its lock says
// that it runs, its pid file who it is; both can be out of step for a moment at a start or after a
// crash, and process numbers are used again, so where the system tells which files a process has
// open, that must agree too. Asked by `kill` and by `launch --fresh`.

import fs from 'node:fs';
import path from 'node:path';
import { lockDirectory } from '../storage/database.ts';

export type Running =
  | { readonly kind: 'running'; readonly pid: number }
  | { readonly kind: 'absent' }
  /** It runs, but no process can be named with certainty. */
  | { readonly kind: 'unclear'; readonly message: string };

/** @param directory - `DATA/ID` */
export function runningAgent(directory: string): Running {
  if (!isLocked(directory)) return { kind: 'absent' };
  const file = path.join(directory, 'agent.pid');
  let pid: number;
  try {
    pid = Number(fs.readFileSync(file, 'utf8').trim());
  } catch {
    return { kind: 'unclear', message: `${file} cannot be read: the agent is just starting` };
  }
  if (!Number.isSafeInteger(pid) || pid <= 1) {
    return { kind: 'unclear', message: `${file} holds no process id` };
  }
  if (!holdsOpen(pid, path.join(directory, 'agent.lock'))) {
    return { kind: 'unclear', message: `process ${pid} of ${file} is not the agent that runs` };
  }
  return { kind: 'running', pid };
}

/** Whether another process holds the directory's lock. A directory that is not there is free. */
export function isLocked(directory: string): boolean {
  if (!fs.existsSync(path.join(directory, 'agent.lock'))) return false;
  const lock = lockDirectory(directory);
  if (lock.ok) lock.unlock();
  return !lock.ok && lock.code === 'locked';
}

/** Whether the process has the file open; where the system does not tell, whether it exists. */
function holdsOpen(pid: number, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    const wanted = fs.realpathSync(file);
    return fs.readdirSync(folder).some((name) => linkOf(path.join(folder, name)) === wanted);
  } catch {
    if (fs.existsSync('/proc/self/fd')) return false;
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }
}

function linkOf(file: string): string | null {
  try {
    return fs.readlinkSync(file);
  } catch {
    return null;
  }
}
