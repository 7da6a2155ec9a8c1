// One agent that `launch` has started: its process, what it last said of itself, and how it ended.
// The launch holds one of these for each and asks them; it is told when one ends.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import { agentProgram } from '../agent/agent-environment.ts';
import type { AgentStart } from '../agent/agent-run.ts';
import {
  type EndKind,
  type FromAgent,
  statusEveryMs,
  type ToAgent,
} from '../agent/launch-messages.ts';
import { type Ending, endingOf } from './endings.ts';
import { memoryKills } from './memory-kills.ts';

/** So many reports missed mean that an agent hangs or is suspended, and not just busy. */
const silentAfterMs = 10 * statusEveryMs;

export class AgentProcess {
  readonly id: string;
  /** Monotonic milliseconds. */
  readonly startedAt = monotonicMs();
  readonly #memoryKills = memoryKills();
  readonly #child: ChildProcess;
  #status: AgentStatus | null = null;
  #statusAt = Infinity;
  #last: Extract<FromAgent, { type: 'ended' }> | null = null;
  #ending: Ending | null = null;

  /** @param onEnd - called once, when the process is gone */
  constructor(start: AgentStart, onEnd: (agent: AgentProcess) => void) {
    this.id = start.id;
    const { line, env, input } = agentProgram(start);
    this.#child = spawn(process.execPath, line, {
      stdio: ['pipe', 'ignore', 'inherit', 'ipc'],
      env,
    });
    // Whoever ends before it has read that is heard of by its end.
    this.#child.stdin?.on('error', () => {}).end(input);
    this.#child.on('message', (message: FromAgent) => {
      if (message.type === 'status') {
        this.#status = message.status;
        this.#statusAt = monotonicMs();
      } else this.#last = message;
    });
    const end = (code: number | null, signal: string | null) => {
      if (this.#ending) return;
      this.#ending = endingOf(this.#last, code, signal, this.#hasMemoryRunOut());
      onEnd(this);
    };
    // Not `exit`: the last words may still be in the channel then.
    this.#child.on('close', end);
    this.#child.on('error', (error) => {
      if (this.#child.pid !== undefined) return;
      this.#last = {
        type: 'ended',
        code: 1,
        reason: String(error),
        course: 'failed',
        logged: false,
      };
      end(1, null);
    });
  }

  #hasMemoryRunOut(): boolean {
    const now = memoryKills();
    return now !== null && this.#memoryKills !== null && now > this.#memoryKills;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What it last reported; null before the first report. */
  get status(): AgentStatus | null {
    return this.#status;
  }

  /** Null while it lives. */
  get ending(): Ending | null {
    return this.#ending;
  }

  /** What it has said of its end, which comes before its process is gone; null until then. */
  get lastWord(): EndKind | null {
    return this.#last?.course ?? null;
  }

  /** Whether a reader of stderr has seen in its log why it ended. */
  get isTold(): boolean {
    return this.#last?.logged === true && !process.stderr.isTTY;
  }

  /** Whether it lives and its reports have stopped, so that the others may have its hosts by now. */
  isSilent(now: number): boolean {
    return this.#ending === null && now - this.#statusAt > silentAfterMs;
  }

  /** Passes an order on; an agent that has just gone needs none. */
  send(order: ToAgent): void {
    if (this.#child.connected) this.#child.send(order, () => {});
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Whether the process was stopped (SIGSTOP) and not continued. */
  isSuspended(): boolean {
    return this.#ending === null && this.pid !== undefined && stateOf(this.pid) === 'T';
  }
}

/** The state letter of a process, as ps shows it; empty where it cannot be told. */
function stateOf(pid: number): string {
  try {
    const line = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before it, in brackets, may hold anything.
    return line.slice(line.lastIndexOf(')') + 2, line.lastIndexOf(')') + 3);
  } catch {
    const ps = spawnSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' });
    return ps.stdout?.trim().slice(0, 1) ?? '';
  }
}
