// One agent of a chaos test, as the process that it is: started like a user starts it, signalled by
// its own process id and never by name, and ended when the test is over, also if that failed. It
// keeps what the agent said and how it ended. Made by the cluster of harness.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
/** What an agent says beyond this is not kept: it repeats itself. */
const saidCharsMax = 100_000;

export interface StartOptions {
  /** Another config than the cluster's. */
  readonly config?: string;
  /** Another data directory than the cluster's. */
  readonly dataDir?: string;
  /** Beside the environment of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of node itself, such as `--max-old-space-size=64`. */
  readonly nodeFlags?: readonly string[];
  /** What runs node: `['ip', 'netns', 'exec', 'x']`, or a shell that sets limits first. */
  readonly prefix?: readonly string[];
}

export interface Ended {
  readonly id: string;
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
  /** Unix milliseconds on the steady clock, as in the web's log. */
  readonly atMs: number;
}

export class AgentRun {
  readonly id: string;
  readonly ended: Promise<Ended>;
  /** Whether it was sent a SIGSTOP and no SIGCONT since. */
  suspended = false;
  readonly #child: ChildProcess;
  readonly #pidFile: string;
  #stderr = '';
  #end: Ended | null = null;

  constructor(id: string, place: { config: string; dataDir: string }, options: StartOptions = {}) {
    this.id = id;
    const { prefix = [], nodeFlags = [], dataDir = place.dataDir } = options;
    this.#pidFile = path.join(dataDir, id, 'agent.pid');
    const agent = ['agent/main.ts', 'agent', options.config ?? place.config, '--id', id];
    const line = [...prefix, process.execPath, ...nodeFlags, ...agent];
    this.#child = spawn(line[0]!, [...line.slice(1), '--data', dataDir], {
      cwd: root,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (this.#stderr.length < saidCharsMax) this.#stderr += text;
    });
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: string | null) => {
        this.#end ??= { id, code, signal, stderr: this.#stderr, atMs: steadyMs() };
        resolve(this.#end);
      };
      this.#child.on('close', end);
      this.#child.on('error', (error) => {
        this.#stderr += String(error);
        end(null, null);
      });
    });
  }

  /** Null while it lives. */
  get end(): Ended | null {
    return this.#end;
  }

  /** What it has said so far. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Whether it has bound its socket, and so takes part. */
  get isListening(): boolean {
    if (this.#end !== null) return false;
    try {
      const pid = Number(fs.readFileSync(this.#pidFile, 'utf8'));
      return pid > 1 && (pid === this.#child.pid || parentOf(pid) === this.#child.pid);
    } catch {
      return false;
    }
  }

  /** To the process that was started, which is node itself where a prefix execs it. */
  signal(signal: NodeJS.Signals): void {
    if (this.#end !== null) return;
    this.#child.kill(signal);
    if (signal === 'SIGSTOP') this.suspended = true;
    if (signal === 'SIGCONT') this.suspended = false;
  }
}

function parentOf(pid: number): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0);
}

/** The clock of the web's log. */
export function steadyMs(): number {
  return performance.timeOrigin + performance.now();
}
