// Calls the functions of list-worker.ts in its process, one after the other. The process is started
// with the first call, and again if it has ended. A list may take seconds, so clients take turns, and
// no list is made for one that has gone. A process, unlike a thread, can be ended in the middle of a
// step of SQLite.

import { type ChildProcess, fork } from 'node:child_process';
import { utimesSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { monotonicMs, wallMs } from '../../runtime/clock.ts';
import {
  removeScratch,
  scratchDirectory,
  scratchEnvironment,
} from '../../storage/file/scratch-directory.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { HttpProblem } from '../http/http-problem.ts';
import type { ListCalls, ListRequest, ListResponse, ListStart } from './list-worker.ts';

/** The client that waits for a list. */
export interface Client {
  /** Of the network. Clients with different addresses take turns. */
  readonly address: string;
  /** Aborts once the client has gone. */
  readonly signal: AbortSignal;
}

/** A client, and what its list leaves out. */
interface Reader extends Client {
  /** Agents whose states are not read; see `askStatusAndStale`. */
  readonly stale?: readonly string[];
}

/** Calls that wait: those of 50 dashboards. */
const WAITING_MAX = 256;
/** The start of the process on a busy machine, and much more than any list takes. */
const LIST_MS_MAX = 30_000;
/** For so long, a client does not get a list again that was given up: others have their turns. */
const PAUSE_MS = 300_000;

const AGAIN = 'try again in some seconds';

interface Child {
  readonly process: ChildProcess;
  /** For its temporary files. Null: there is no room, so its copies fail and say why. */
  readonly directory: string | null;
}

interface Call {
  readonly address: string;
  readonly request: ListRequest;
  readonly resolve: (result: unknown) => void;
  readonly reject: (why: unknown) => void;
}

export class ListProcess {
  readonly #config: ResolvedConfig;
  readonly #script: URL;
  readonly #now: () => number;
  #isClosed = false;
  #child: Child | null = null;
  /** Those of processes that have not ended. */
  readonly #directories = new Set<string>();
  /** Null: the process has nothing to do. */
  #running: Call | null = null;
  #limit: NodeJS.Timeout | undefined;
  /**
   * The calls that wait, by address; the first address has the next turn. Filled by requests, each
   * connection with one at a time, and emptied by the process and by clients that go.
   */
  readonly #waiting = new Map<string, Call[]>();
  /** By client and list, when a pause ends (mono). Each has cost LIST_MS_MAX, so they are few. */
  readonly #pauses = new Map<string, number>();

  /**
   * @param script - of the process; tests replace it
   * @param now - monotonic milliseconds
   */
  constructor(config: ResolvedConfig, script = ownScript(), now = monotonicMs) {
    this.#config = config;
    this.#script = script;
    this.#now = now;
  }

  close(): void {
    this.#isClosed = true;
    for (const { reject } of [...this.#waiting.values()].flat()) reject(closed());
    this.#waiting.clear();
    if (this.#running) this.#ended().reject(closed());
    this.#drop();
    for (const directory of this.#directories) removeScratch(directory);
  }

  /** @throws HttpProblem if the call does, the client has gone, or too many calls wait */
  call<N extends keyof ListCalls>(
    { address, signal, stale = [] }: Reader,
    name: N,
    ...args: Parameters<ListCalls[N]>
  ): Promise<ReturnType<ListCalls[N]>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const call: Call = { address, request: { name, args, stale }, resolve, reject };
    const leave = () => {
      this.#remove(address, call);
      reject(new HttpProblem(503, 'client-gone', 'the client has gone', AGAIN));
    };
    if (this.#isClosed) reject(closed());
    else if (signal.aborted) leave();
    else {
      signal.addEventListener('abort', leave, { once: true });
      this.#add(address, call);
    }
    const ended = promise.finally(() => signal.removeEventListener('abort', leave));
    return ended as Promise<ReturnType<ListCalls[N]>>;
  }

  #add(address: string, call: Call): void {
    const calls = this.#waiting.get(address);
    if (calls) calls.push(call);
    else this.#waiting.set(address, [call]);
    this.#next();
    const all = [...this.#waiting];
    if (all.reduce((sum, [, { length }]) => sum + length, 0) <= WAITING_MAX) return;
    // The address with the most waiting calls loses its newest one, so it cannot keep others out.
    const [most, theirs] = all.reduce((a, b) => (b[1].length > a[1].length ? b : a));
    const last = theirs.at(-1)!;
    this.#remove(most, last);
    const detail = `${WAITING_MAX} lists wait already`;
    last.reject(new HttpProblem(503, 'list-busy', detail, AGAIN));
  }

  #remove(address: string, call: Call): void {
    const left = this.#waiting.get(address)?.filter((one) => one !== call) ?? [];
    if (left.length > 0) this.#waiting.set(address, left);
    else this.#waiting.delete(address);
  }

  #next(): void {
    const [turn] = this.#waiting;
    if (this.#running || !turn) return;
    const [address, [call, ...others]] = turn;
    this.#waiting.delete(address);
    if (others.length > 0) this.#waiting.set(address, others);
    if (this.#isPaused(call!)) {
      call!.reject(slow());
      return this.#next();
    }
    this.#running = call!;
    try {
      if (!isKept(this.#child)) this.#drop();
      this.#child ??= this.#start();
      this.#child.process.send(call!.request, () => {});
      this.#limit = setTimeout(() => this.#giveUp(), LIST_MS_MAX);
    } catch (error) {
      // The script cannot be run; the next call tries again.
      this.#ended().reject(error);
      this.#next();
    }
  }

  #start(): Child {
    // The script may be none.
    const script = fileURLToPath(this.#script);
    // A process that is killed leaves its temporary files.
    const directory = madeDirectory();
    if (directory !== null) this.#directories.add(directory);
    const files = directory === null ? {} : scratchEnvironment(directory);
    const child = fork(script, {
      serialization: 'advanced',
      env: { ...process.env, ...files },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const over = (why: unknown) => {
      if (directory !== null) {
        removeScratch(directory);
        this.#directories.delete(directory);
      }
      if (this.#child?.process !== child) return;
      this.#child = null;
      if (this.#running) this.#ended().reject(why);
      this.#next();
    };
    child.on('message', ({ result, problem, error }: ListResponse) => {
      if (this.#child?.process !== child || this.#running === null) return;
      const { resolve, reject } = this.#ended();
      if (problem) {
        const { status, code, detail, remedy } = problem;
        reject(new HttpProblem(status, code, detail, remedy));
      } else if (error !== undefined) reject(error);
      else resolve(result);
      this.#next();
    });
    // The system permits no further process; without one, there is no `exit`.
    child.on('error', (error) => {
      if (child.pid === undefined) over(error);
    });
    child.on('exit', (code, signal) => {
      const how = signal ?? `code ${code}`;
      over(new Error(`the process that reads the lists has ended (${how})`));
    });
    child.send({ config: this.#config } satisfies ListStart, () => {});
    return { process: child, directory };
  }

  /** The process may be in a step of SQLite that does not end. */
  #giveUp(): void {
    const call = this.#ended();
    this.#pauses.set(keyOf(call), this.#now() + PAUSE_MS);
    call.reject(slow());
    // The next call starts another.
    this.#drop();
    this.#next();
  }

  #isPaused(call: Call): boolean {
    for (const [key, until] of this.#pauses) if (until <= this.#now()) this.#pauses.delete(key);
    return this.#pauses.has(keyOf(call));
  }

  #drop(): void {
    this.#child?.process.kill('SIGKILL');
    this.#child = null;
  }

  #ended(): Call {
    clearTimeout(this.#limit);
    const call = this.#running!;
    this.#running = null;
    return call;
  }
}

function keyOf({ address, request }: Call): string {
  return `${request.name} ${address}`;
}

function slow(): HttpProblem {
  const [limit, pause] = [LIST_MS_MAX / 1000, PAUSE_MS / 60_000];
  const detail = `the list was not complete after ${limit} s, and is not made again for ${pause} min`;
  return new HttpProblem(503, 'list-slow', detail, 'try again in some minutes');
}

function closed(): Error {
  return new Error('the server has been closed');
}

function madeDirectory(): string | null {
  try {
    return scratchDirectory();
  } catch {
    return null;
  }
}

/** Old directories are removed by others, so each call makes it a new one. */
function isKept(child: Child | null): boolean {
  if (!child?.directory) return true;
  try {
    utimesSync(child.directory, wallMs() / 1000, wallMs() / 1000);
    return true;
  } catch {
    return false;
  }
}

function ownScript(): URL {
  return new URL(`list-worker${extname(import.meta.url)}`, import.meta.url);
}
