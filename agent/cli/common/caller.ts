// The caller of a command: its arguments, environment and output streams. Several commands may run in
// one process, so asynchronous local storage keeps the caller of each, and functions that print need no
// parameter for it.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Writable } from 'node:stream';

/** An output of a command; `columns` is the width if it is a terminal. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export interface Caller {
  /** As `process.argv`: two words for the program, then the arguments. */
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** What was printed so far. */
  readonly heard: {
    /** The first messages on stderr. */
    readonly messages: string[];
    /** Whether anything was printed on stdout. */
    output: boolean;
  };
}

/** The caller of this process. */
export const thisProcess: Caller = {
  argv: process.argv,
  env: process.env,
  // Getters, because Node opens a stream on first access.
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  heard: { messages: [], output: false },
};

const callers = new AsyncLocalStorage<Caller>();

/** The caller of the running command; outside of any command, that of this process. */
export function caller(): Caller {
  return callers.getStore() ?? thisProcess;
}

/** Runs `command` for this caller. */
export function calledBy<T>(who: Caller, command: () => Promise<T>): Promise<T> {
  return callers.run(who, command);
}
