// The lock `DATA/launch.lock`. A launch holds it from before it changes anything until each of its
// agents holds a lock of its own. A second launch that begins meanwhile is refused, so that two never
// start some of the agents each. An order that is taken back in the state files holds it, too.

import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../../config/config.ts';
import { type Lock, lockFile } from '../../storage/file/database.ts';
import { cannotWrite, type ExitCode } from './exit-code.ts';
import { makeDirectory } from './make-directory.ts';
import { holdsOpen, isLocked } from './running.ts';

const LOCK = 'launch.lock';
/** Several times what the agents of a launch take to start on a busy machine. */
const startMsMax = 30_000;
const pollMs = 50;

export type LaunchLock =
  | Extract<Lock, { ok: true }>
  | { readonly ok: false; readonly code: ExitCode; readonly message: string };

/** Makes the data directory where it is not there yet. */
export function lockLaunch({ agent: { dataDir } }: Config): LaunchLock {
  const pidFile = path.join(dataDir, 'launch.pid');
  try {
    makeDirectory(dataDir);
    const lock = lockFile(dataDir, LOCK, () => heldText(dataDir, pidFile));
    if (!lock.ok) {
      return { ok: false, code: lock.code === 'full' ? 3 : 4, message: lock.message };
    }
    fs.writeFileSync(pidFile, `${process.pid}\n`);
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

/** Waits, for half a minute at most, until no launch is starting agents of the data directory. */
export async function startingEnded(dataDir: string): Promise<void> {
  for (let waited = 0; waited < startMsMax && isLocked(dataDir, LOCK); waited += pollMs) {
    await pause(pollMs);
  }
}

function heldText(dataDir: string, pidFile: string): string {
  const pid = pidIn(pidFile, path.join(dataDir, LOCK));
  const [which, how] = pid === null ? ['', ''] : [` (process ${pid})`, `:\n  kill -INT ${pid}`];
  return (
    `another launch${which} is just starting the agents of ${dataDir}, or an order is taken back ` +
    `there; wait for it, or end it${how}`
  );
}

/** Null where the file is of a launch that was killed: its number may be another process's by now. */
function pidIn(file: string, lock: string): number | null {
  try {
    const pid = Number(fs.readFileSync(file, 'utf8').trim());
    const isPid = Number.isSafeInteger(pid) && pid > 1;
    return isPid && holdsOpen(pid, lock) === true ? pid : null;
  } catch {
    return null;
  }
}
