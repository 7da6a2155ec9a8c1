// Examines a large state file while its agent is already using it. The check runs in a separate
// process with low priority, so it does not slow the agent's loop or use its memory. It reads in
// pieces, so SQLite can reuse the write-ahead log. If it finds damage, the agent exits, and the
// next start examines the file before using it.

import { type ChildProcess, spawn } from 'node:child_process';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import type { BackgroundFinding } from './background-check-process.ts';

/** Maximum characters reported of a failed check's stderr, counted from its end. */
const STDERR_CHARS_MAX = 500;

/**
 * @param onDamage - called at most once, with the error that SQLite would throw in a turn
 * @param onFailed - called if the check itself failed; the file may be sound or damaged
 */
export function checkInBackground(
  path: string,
  onDamage: (error: Error) => void,
  onFailed: (why: string) => void,
): { stop(): void } {
  const child = spawn(process.execPath, [script(), path], { stdio: ['ignore', 'pipe', 'pipe'] });
  lowerPriority(child);
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-STDERR_CHARS_MAX);
  });
  let over = false;
  const fail = (why: string) => {
    if (!over) onFailed(why);
    over = true;
  };
  child.on('error', (error) => fail(error.message));
  child.on('close', (code, signal) => {
    // The output of a killed check may be incomplete.
    if (code !== 0) return fail(errors || `its process exited with ${code ?? signal}`);
    if (over) return;
    const { damage } = JSON.parse(output) as BackgroundFinding;
    if (damage !== null) onDamage(Object.assign(new Error(damage), { code: 'SQLITE_CORRUPT' }));
  });
  return {
    stop: () => {
      over = true;
      child.kill('SIGKILL');
    },
  };
}

function lowerPriority(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    os.setPriority(child.pid, os.constants.priority.PRIORITY_LOW);
  } catch {
    // The process may have exited, or the system may forbid the change. The check works anyway.
  }
}

/** The script beside this file, in TypeScript or compiled. */
function script(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./background-check-process.${extension}`, import.meta.url));
}
