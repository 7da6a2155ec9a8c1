// The caller of a command: its arguments, environment and output streams. Several commands may run
// in one process, so asynchronous local storage keeps the caller of each, and functions that print
// need no parameter for it.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable, Writable } from 'node:stream';
import type { ExitCode } from './exit-code.ts';

/** An output stream of a command. If it is a terminal, `columns` and `rows` are its size. */
export type OutputStream = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The keyboard of a command. In raw mode, each key arrives at once and is not echoed. */
export type InputStream = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};

export interface Caller {
  /** Like `process.argv`: the paths of Node and of the script, then the arguments. */
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Absent: no keys are read. */
  readonly stdin?: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** What the command has printed so far. */
  readonly heard: {
    /** The first messages on stderr. */
    readonly messages: string[];
    /** Whether anything was printed on stdout. */
    output: boolean;
    /** The exit code of the command, once it is known before the last output. */
    code?: ExitCode;
    /** Whether an agent has refused the command. */
    isRefused?: boolean;
    /** The pattern that still blocks the hosts of a block that was undone. */
    stillBlockedBy?: string;
    /** The agent of a directive, if no agent that answered has this identifier. */
    absentAgent?: string;
  };
}

/** The caller of this process. */
export const thisProcess: Caller = {
  argv: process.argv,
  env: process.env,
  // Getters, because Node opens a stream on first access.
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  heard: { messages: [], output: false },
};

const callers = new AsyncLocalStorage<Caller>();

/** The caller of the running command, or of this process if no command runs. */
export function caller(): Caller {
  return callers.getStore() ?? thisProcess;
}

/** Runs `command` for this caller. */
export function calledBy<T>(who: Caller, command: () => Promise<T>): Promise<T> {
  return callers.run(who, command);
}
