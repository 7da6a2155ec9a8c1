// Who called a command: the words, the environment and the streams that a process has. A command that
// is called as a function has those of its caller, and several may run in one process at a time;
// hence they are kept with the course of each call, and are not passed to all that may speak.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Writable } from 'node:stream';

/** Where a command writes to; with the width of the terminal, if it is one. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export interface Caller {
  /** As node gives it: two words for the program, then the command and its words. */
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** What it was told so far. */
  readonly heard: Heard;
}

interface Heard {
  /** The first messages. */
  readonly messages: string[];
  /** Whether anything was printed on stdout. */
  output: boolean;
}

/** The user of this process. */
export const thisProcess: Caller = {
  argv: process.argv,
  env: process.env,
  // Streams that are not used are not opened.
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  heard: { messages: [], output: false },
};

const callers = new AsyncLocalStorage<Caller>();

/** Of the command that runs; outside of any, the user of this process. */
export function caller(): Caller {
  return callers.getStore() ?? thisProcess;
}

/** What `command` does, it does for this caller. */
export function calledBy<T>(who: Caller, command: () => Promise<T>): Promise<T> {
  return callers.run(who, command);
}
