// Reads a large state file whole while its agent already works on it: in a process of its own, with
// low priority, so that neither the agent's loop nor its memory feels it, and in pieces, so that it
// does not keep the write-ahead log from being reused. What it finds ends the agent, and the next start examines the file before it is
// used. Started by agent.ts where `openState` left the file unexamined.

import { type ChildProcess, spawn } from 'node:child_process';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import type { BackgroundFinding } from './background-check-process.ts';

/** The last words of a check that failed; a sentence is enough. */
const WORDS_CHARS_MAX = 500;

/**
 * @param onDamage - called at most once, with an error as SQLite would throw it in a turn
 * @param onFailed - the check itself could not be made: nothing is known of the file
 */
export function checkInBackground(
  path: string,
  onDamage: (error: Error) => void,
  onFailed: (why: string) => void,
): { stop(): void } {
  const child = spawn(process.execPath, [script(), path], { stdio: ['ignore', 'pipe', 'pipe'] });
  calm(child);
  let said = '';
  let complained = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complained = (complained + text).slice(-WORDS_CHARS_MAX);
  });
  let over = false;
  const fail = (why: string) => {
    if (!over) onFailed(why);
    over = true;
  };
  child.on('error', (error) => fail(error.message));
  child.on('close', (code, signal) => {
    // What a check had said when it was killed may be half a line.
    if (code !== 0) fail(complained || `it ended with ${code ?? signal}`);
    else if (!over) tell(JSON.parse(said) as BackgroundFinding, onDamage);
  });
  return {
    stop: () => {
      over = true;
      child.kill('SIGKILL');
    },
  };
}

function tell({ damage }: BackgroundFinding, onDamage: (error: Error) => void): void {
  if (damage === null) return;
  onDamage(Object.assign(new Error(damage), { code: 'SQLITE_CORRUPT' }));
}

function calm(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    os.setPriority(child.pid, os.constants.priority.PRIORITY_LOW);
  } catch {
    // It may have ended, or the system may not allow it: the check is the same.
  }
}

/** As it lies beside this file, in the sources or compiled. */
function script(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./background-check-process.${extension}`, import.meta.url));
}
