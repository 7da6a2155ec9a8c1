// The lock `DATA/launch.lock`. A launch holds it until each of its agents holds its own lock, so that two
// launches never each start some of the agents. A command that takes a directive back in the state files
// holds it, too.

import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../../config/config.ts';
import { giveToOwner, type Lock, lockFile } from '../../storage/file/database.ts';
import { cannotWrite, type ExitCode } from './exit-code.ts';
import { makeDirectory } from './make-directory.ts';
import { holdsOpen, isLocked } from './running.ts';

const LOCK = 'launch.lock';
/** Longest wait for a launch in milliseconds: several times its duration on a busy machine. */
const startMsMax = 30_000;
const pollMs = 50;

export type LaunchLock =
  | Extract<Lock, { ok: true }>
  | { readonly ok: false; readonly code: ExitCode; readonly message: string };

/** Takes the lock; creates the data directory if it is missing. */
export function lockLaunch({ agent: { dataDir } }: Config): LaunchLock {
  const pidFile = path.join(dataDir, 'launch.pid');
  try {
    makeDirectory(dataDir);
    const lock = lockFile(dataDir, LOCK, () => heldText(dataDir, pidFile));
    if (!lock.ok) {
      return { ok: false, code: lock.code === 'full' ? 3 : 4, message: lock.message };
    }
    // A process that was killed may have left it to another user.
    fs.rmSync(pidFile, { force: true });
    fs.writeFileSync(pidFile, `${process.pid}\n`);
    giveToOwner(pidFile);
    let isHeld = true;
    const unlock = () => {
      if (!isHeld) return;
      isHeld = false;
      fs.rmSync(pidFile, { force: true });
      lock.unlock();
    };
    return { ok: true, unlock };
  } catch (error) {
    return { ok: false, ...cannotWrite(`in ${dataDir}`, error) };
  }
}

/** Waits, at most `startMsMax`, until no launch is starting agents in the data directory. */
export async function startingEnded(dataDir: string): Promise<void> {
  for (let waited = 0; waited < startMsMax && isLocked(dataDir, LOCK); waited += pollMs) {
    await pause(pollMs);
  }
}

function heldText(dataDir: string, pidFile: string): string {
  const pid = pidIn(pidFile, path.join(dataDir, LOCK));
  const [which, how] = pid === null ? ['', ''] : [` (process ${pid})`, `:\n  kill -INT ${pid}`];
  return (
    `another launch${which} is just starting the agents of ${dataDir}, or a directive is taken back ` +
    `there; wait for it, or end it${how}`
  );
}

/** The process that holds the lock; null if the number was left by a process that was killed. */
function pidIn(file: string, lock: string): number | null {
  try {
    const pid = Number(fs.readFileSync(file, 'utf8').trim());
    const isPid = Number.isSafeInteger(pid) && pid > 1;
    return isPid && holdsOpen(pid, lock) === true ? pid : null;
  } catch {
    return null;
  }
}
