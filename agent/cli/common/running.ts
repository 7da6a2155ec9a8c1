// Determines whether an agent runs in a data directory of this machine, and as which process. The
// lock shows whether it runs; the PID file shows which process it is. The two may disagree for a
// moment, and the system reuses process numbers. So where the system has /proc, the process counts
// as the agent only if it has the lock file open.

import fs from 'node:fs';
import path from 'node:path';
import { lockDirectory, lockFile } from '../../storage/file/database.ts';
import { permissionMissing } from '../../storage/file/storage-failure.ts';
import { messageOf, Refusal, systemCode } from './exit-code.ts';

export type Running =
  | { readonly kind: 'running'; readonly pid: number }
  | { readonly kind: 'absent' }
  /** It may run, but its process cannot be identified with certainty. */
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
    const isMissing = systemCode(error) === 'ENOENT';
    const why = isMissing ? 'does not exist yet: the agent is starting' : messageOf(error);
    return { kind: 'unclear', message: `${file} ${why}` };
  }
  if (!Number.isSafeInteger(pid) || pid <= 1) {
    return { kind: 'unclear', message: `${file} contains no process id` };
  }
  const holds = holdsOpen(pid, path.join(directory, 'agent.lock'));
  if (holds === 'denied') return { kind: 'unclear', message: permissionMissing(`/proc/${pid}`) };
  if (!holds) {
    return { kind: 'unclear', message: `process ${pid} of ${file} is not the running agent` };
  }
  return { kind: 'running', pid };
}

/** The agents whose directories are in use on this machine. */
export function lockedAgents(
  dataDir: string,
  agents: readonly { readonly id: string }[],
): readonly string[] {
  return agents.map(({ id }) => id).filter((id) => isLocked(path.join(dataDir, id)));
}

/** Of agents that run on this machine and do not answer. */
export function noAnswerText(ids: readonly string[]): string {
  return `${ids.join(', ')}: an agent starts, ends or does not answer; try again`;
}

/** A file that this user may not open but that shows whether an agent runs; null: there is none. */
export function barredPath(directory: string): string | null {
  const { R_OK, W_OK, X_OK } = fs.constants;
  const lock = path.join(directory, 'agent.lock');
  // Even root may not execute (X_OK) an ordinary file.
  if (isFile(directory)) return null;
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

/** @throws Refusal if only another user may read the directory */
export function refuseIfBarred(directory: string): void {
  const barred = barredPath(directory);
  if (barred !== null) throw new Refusal(4, permissionMissing(barred));
}

function isFile(name: string): boolean {
  try {
    return fs.statSync(name).isFile();
  } catch {
    return false;
  }
}

function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(systemCode(error));
}

/**
 * Whether another process holds the lock. The lock of a missing directory is free.
 *
 * @param name - name of the lock file
 */
export function isLocked(directory: string, name = 'agent.lock'): boolean {
  if (!fs.existsSync(path.join(directory, name))) return false;
  const lock = lockFile(directory, name, () => '');
  if (lock.ok) lock.unlock();
  return !lock.ok && lock.code === 'locked';
}

/** Whether an agent has run in the directory and none runs now. False for a missing directory. */
export function isUnused(directory: string): boolean {
  if (!fs.existsSync(path.join(directory, 'agent.lock'))) return false;
  const lock = lockDirectory(directory, 0);
  if (lock.ok) lock.unlock();
  return lock.ok;
}

/** Whether certainly no agent runs in the directory: a lock that cannot be taken is no proof. */
export function isFree(directory: string): boolean {
  return !fs.existsSync(path.join(directory, 'agent.lock')) || isUnused(directory);
}

/** Whether the process has the file open or, without /proc, whether the process exists. */
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
