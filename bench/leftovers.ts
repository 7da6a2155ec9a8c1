// What a benchmark must not leave behind: processes that it started and directories that it made.
// Each is noted here as it comes into being; whatever is still noted when this process exits, by a
// signal or by an error that nobody caught, is killed and removed. All of it happens at once, within
// the exit, so that nothing new can be started meanwhile. Called by whoever starts a process here.

import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Processes that were killed just now may still write, which fails a removal. */
const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const;

const noted = new Set<() => void>();

/**
 * Has something undone when this process exits, unless it is forgotten before. The last one noted
 * is undone first.
 *
 * @returns what forgets it, for when it was undone otherwise
 */
export function undoAtExit(undo: () => void): () => void {
  if (noted.size === 0) watch();
  noted.add(undo);
  return () => {
    if (noted.delete(undo) && noted.size === 0) unwatch();
  };
}

/** Kills the process at the exit of this one, if it still runs. */
export function killAtExit(child: ChildProcess, kill?: () => void): void {
  child.once('close', undoAtExit(kill ?? (() => void child.kill('SIGKILL'))));
}

/** A new directory with what removes it; it is gone when this process is. */
export function temporaryDirectory(): { readonly directory: string; readonly remove: () => void } {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-bench-'));
  const undo = () => removeTree(directory);
  const forget = undoAtExit(undo);
  const remove = () => {
    undo();
    forget();
  };
  return { directory, remove };
}

/** Also where others, just killed, have not yet stopped writing to it. */
export function removeTree(directory: string): void {
  fs.rmSync(directory, removal);
}

/**
 * Only while something is noted: else a signal ends this process by itself, even in the middle of
 * a computation that lets no handler run.
 */
function watch(): void {
  for (const signal of signals) process.on(signal, exitBy);
  process.on('exit', undoAll);
}

function unwatch(): void {
  for (const signal of signals) process.off(signal, exitBy);
  process.off('exit', undoAll);
}

/** As a shell tells of a program that a signal ended. */
function exitBy(_signal: NodeJS.Signals, number: number): void {
  process.exit(128 + number);
}

function undoAll(): void {
  for (const undo of [...noted].toReversed()) {
    try {
      undo();
    } catch (error) {
      // The others must be undone all the same.
      process.stderr.write(`left behind: ${String(error)}\n`);
    }
  }
}
