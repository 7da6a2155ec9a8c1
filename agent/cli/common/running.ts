// Whether an agent runs on a data directory of this machine, and as which process. Its lock says
// that it runs, its pid file who it is; both can be out of step for a moment at a start or after a
// crash, and process numbers are used again, so where the system tells which files a process has
// open, that must agree too. Asked by `kill` and by `launch --fresh`.

import fs from 'node:fs';
import path from 'node:path';
import { lockDirectory, lockFile } from '../../storage/file/database.ts';
import { messageOf } from './exit-code.ts';

export type Running =
  | { readonly kind: 'running'; readonly pid: number }
  | { readonly kind: 'absent' }
  /** It runs, but no process can be named with certainty. */
  | { readonly kind: 'unclear'; readonly message: string };

/** @param directory - `DATA/ID` */
export function runningAgent(directory: string): Running {
  const barred = barredPath(directory);
  if (barred !== null) return { kind: 'unclear', message: permissionMissing(barred) };
  if (!isLocked(directory)) return { kind: 'absent' };
  const file = path.join(directory, 'agent.pid');
  let pid: number;
  try {
    pid = Number(fs.readFileSync(file, 'utf8').trim());
  } catch (error) {
    const why = isMissing(error) ? 'is not there: the agent is just starting' : messageOf(error);
    return { kind: 'unclear', message: `${file} ${why}` };
  }
  if (!Number.isSafeInteger(pid) || pid <= 1) {
    return { kind: 'unclear', message: `${file} holds no process id` };
  }
  const holds = holdsOpen(pid, path.join(directory, 'agent.lock'));
  if (holds === 'denied') return { kind: 'unclear', message: permissionMissing(`/proc/${pid}`) };
  if (!holds) {
    return { kind: 'unclear', message: `process ${pid} of ${file} is not the agent that runs` };
  }
  return { kind: 'running', pid };
}

/** What is another user's and must be opened to tell whether an agent runs; null where nothing is. */
export function barredPath(directory: string): string | null {
  const { R_OK, W_OK, X_OK } = fs.constants;
  const lock = path.join(directory, 'agent.lock');
  for (const [file, mode] of [
    [directory, R_OK | X_OK],
    [lock, R_OK | W_OK],
  ] as const) {
    try {
      fs.accessSync(file, mode);
    } catch (error) {
      if (isDenied(error)) return file;
    }
  }
  return null;
}

/** @param file - a file, directory or `/proc/PID` that belongs to whoever runs the agent */
export function permissionMissing(file: string): string {
  let whose = 'another user';
  try {
    whose = `user ${fs.statSync(file).uid}`;
  } catch {
    // A directory above it is barred, too.
  }
  return `permission missing: ${file} is of ${whose}; run the command as that user or as root`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function isDenied(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['EACCES', 'EPERM'].includes(`${error.code}`);
}

/**
 * Whether another process holds the directory's lock. A directory that is not there is free.
 *
 * @param name - of the lock file
 */
export function isLocked(directory: string, name = 'agent.lock'): boolean {
  if (!fs.existsSync(path.join(directory, name))) return false;
  const lock = lockFile(directory, name, () => '');
  if (lock.ok) lock.unlock();
  return !lock.ok && lock.code === 'locked';
}

/** Whether an agent has run in the directory and none does now. One that is not there is not unused. */
export function isUnused(directory: string): boolean {
  if (!fs.existsSync(path.join(directory, 'agent.lock'))) return false;
  const lock = lockDirectory(directory, 0);
  if (lock.ok) lock.unlock();
  return lock.ok;
}

/** Whether the process has the file open; where the system does not tell, whether it exists. */
export function holdsOpen(pid: number, file: string): boolean | 'denied' {
  const folder = `/proc/${pid}/fd`;
  try {
    const wanted = fs.realpathSync(file);
    return fs.readdirSync(folder).some((name) => linkOf(path.join(folder, name)) === wanted);
  } catch (error) {
    if (isDenied(error)) return 'denied';
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
