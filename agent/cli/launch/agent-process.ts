// One agent process that `launch` has started: its last status report and how it exited.

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

/** An agent that misses ten reports hangs or is suspended; a busy agent misses fewer. */
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

  /** @param onEnd - called once, after the process has exited */
  constructor(start: AgentStart, onEnd: (agent: AgentProcess) => void) {
    this.id = start.id;
    const { line, env, input } = agentProgram(start);
    this.#child = spawn(process.execPath, line, {
      stdio: ['pipe', 'ignore', 'inherit', 'ipc'],
      env,
    });
    // An agent that exits before it has read its input is reported by its exit.
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
    // At `exit` the agent's last message may still be in the channel.
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

  /** The last report; null before the first one. */
  get status(): AgentStatus | null {
    return this.#status;
  }

  /** Null while the process runs. */
  get ending(): Ending | null {
    return this.#ending;
  }

  /** The result that the agent has reported before its process exits; null until then. */
  get lastWord(): EndKind | null {
    return this.#last?.course ?? null;
  }

  /** Whether its log on stderr already has the reason; on a terminal the launch repeats it. */
  get isTold(): boolean {
    return this.#last?.logged === true && !process.stderr.isTTY;
  }

  /** Whether the process runs without sending reports; others may have taken over its hosts. */
  isSilent(now: number): boolean {
    return this.#ending === null && now - this.#statusAt > silentAfterMs;
  }

  /** Sends a message; does nothing if the agent has disconnected. */
  send(message: ToAgent): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Whether the process is stopped (SIGSTOP). */
  isSuspended(): boolean {
    return this.#ending === null && this.pid !== undefined && stateOf(this.pid) === 'T';
  }
}

/** The state letter of a process as in ps; empty if it is unknown. */
function stateOf(pid: number): string {
  try {
    const line = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The state follows the name, which is in parentheses and may contain any character.
    return line.slice(line.lastIndexOf(')') + 2, line.lastIndexOf(')') + 3);
  } catch {
    const ps = spawnSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' });
    return ps.stdout?.trim().slice(0, 1) ?? '';
  }
}
