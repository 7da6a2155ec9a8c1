// One agent of a chaos test, as a process. It is started as a user starts it, receives signals by
// its own process id, and is ended after the test, even after a failure. It keeps the output and
// the exit of the agent.

import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
/** Output beyond this is dropped, because it repeats itself. */
const saidCharsMax = 100_000;

export interface StartOptions {
  /** Another config than that of the cluster. */
  readonly config?: string;
  /** Another data directory than that of the cluster. */
  readonly dataDir?: string;
  /** Added to the environment of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Node.js, such as `--max-old-space-size=64`. */
  readonly nodeFlags?: readonly string[];
  /** The command that runs Node.js: `['ip', 'netns', 'exec', 'x']`, or a shell that sets limits. */
  readonly prefix?: readonly string[];
}

export interface Ended {
  readonly id: string;
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
  /** Unix milliseconds on the steady clock, as in the web's log. */
  readonly atMs: number;
}

export class AgentRun {
  readonly id: string;
  readonly ended: Promise<Ended>;
  /** Whether the last signal was SIGSTOP rather than SIGCONT. */
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

  /** Null while it is running. */
  get end(): Ended | null {
    return this.#end;
  }

  /** The output so far. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Whether it has bound its socket and so takes part in the cluster. */
  get isListening(): boolean {
    if (this.#end !== null) return false;
    try {
      const pid = Number(fs.readFileSync(this.#pidFile, 'utf8'));
      return pid > 1 && (pid === this.#child.pid || parentOf(pid) === this.#child.pid);
    } catch {
      return false;
    }
  }

  /** Signals the started process, which is Node.js itself if the prefix runs it by exec. */
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
