// Prevents that a benchmark leaves processes or directories behind. Each is registered when it is
// created. When this process exits, by a signal or an uncaught error, whatever is still registered
// is killed and removed, synchronously within the exit, so that nothing new can start meanwhile.

import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Processes that were just killed may still write, which makes a removal fail. */
const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const;

const noted = new Set<() => void>();

/**
 * Registers an undo for the exit of this process. The last registered one runs first.
 *
 * @returns a function that cancels the undo, for when it was done otherwise
 */
export function undoAtExit(undo: () => void): () => void {
  if (noted.size === 0) watch();
  noted.add(undo);
  return () => {
    if (noted.delete(undo) && noted.size === 0) unwatch();
  };
}

/** Kills the process at the exit of this one if it is still running. */
export function killAtExit(child: ChildProcess, kill?: () => void): void {
  child.once('close', undoAtExit(kill ?? (() => void child.kill('SIGKILL'))));
}

/**
 * A new directory with a function that removes it. It is also removed at the exit of this process.
 */
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

/** Removes the directory even if processes that were just killed still write to it. */
export function removeTree(directory: string): void {
  fs.rmSync(directory, removal);
}

/**
 * Active only while something is registered. Otherwise a signal ends this process directly, even
 * during a computation that lets no handler run.
 */
function watch(): void {
  for (const signal of signals) process.on(signal, exitBy);
  process.on('exit', undoAll);
}

function unwatch(): void {
  for (const signal of signals) process.off(signal, exitBy);
  process.off('exit', undoAll);
}

/** Exits with the code that shells use for a program ended by a signal. */
function exitBy(_signal: NodeJS.Signals, number: number): void {
  process.exit(128 + number);
}

function undoAll(): void {
  for (const undo of [...noted].toReversed()) {
    try {
      undo();
    } catch (error) {
      // The other undos must run nevertheless.
      process.stderr.write(`left behind: ${String(error)}\n`);
    }
  }
}
