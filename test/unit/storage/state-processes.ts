// Starts `state-process.ts`, reads its reports, and ends it by its process id within a time limit.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('state-process.ts', import.meta.url));
/** A process without output for longer than this is broken. */
const SILENT_MS_MAX = 20_000;

export interface Told {
  readonly ok?: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly committed?: number;
}

export class StateProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #exited: Promise<unknown>;
  readonly #watch: NodeJS.Timeout;

  constructor(
    mode: 'open' | 'hold' | 'write',
    directory: string,
    rest: { durability?: string; uid?: number } = {},
  ) {
    const { durability = 'process', uid } = rest;
    const user = uid === undefined ? [] : [String(uid)];
    this.#child = spawn(process.execPath, [SCRIPT, mode, directory, durability, ...user], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#exited = once(this.#child, 'exit');
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.#watch = setTimeout(() => this.#child.kill('SIGKILL'), SILENT_MS_MAX);
  }

  /** The next report; undefined if the process has ended. */
  async told(): Promise<Told | undefined> {
    this.#watch.refresh();
    const { value, done } = await this.#lines.next();
    return done ? undefined : (JSON.parse(value) as Told);
  }

  /** Sends SIGKILL, and returns the reports written before it died. */
  async kill(): Promise<Told[]> {
    this.#child.kill('SIGKILL');
    const rest: Told[] = [];
    for (let told = await this.told(); told; told = await this.told()) rest.push(told);
    await this.#exited;
    clearTimeout(this.#watch);
    return rest;
  }
}
