// Runs programs to their end and reports their resources, children included: processor time as the
// kernel sums it up for the waiting shell, memory as the largest sum over the processes at one
// moment. Nothing is loaded into them, so any program can be compared with any other.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { killAtExit } from './leftovers.ts';

export interface Program {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Its stdin; empty by default. */
  readonly input?: string;
}

export interface Used {
  /** User and system time of all processes and threads. */
  readonly cpuMs: number;
  /** Resident memory of all processes together; NaN if there is no /proc. */
  readonly rssBytesMax: number;
  /** Programs that did not end with 0, with the end of their output. */
  readonly failures: readonly string[];
}

const sampleMs = 100;
/** Maximum characters of a program's output in the error message. */
const saidMax = 4_000;

/** `times` prints a line for the shell itself and one for the children that it waited for. */
const shell = '"$@"; code=$?; times >&3; exit $code';

/**
 * Runs all programs at the same time. Programs still running after `limitMs` are killed and count
 * as failures.
 */
export async function runMetered(programs: readonly Program[], limitMs: number): Promise<Used> {
  const runs = programs.map(startOne);
  const memory = new MemoryWatch(runs.map(({ child }) => child.pid ?? 0));
  const watching = setInterval(() => memory.look(), sampleMs);
  const limit = setTimeout(() => {
    for (const { child } of runs) killGroup(child);
  }, limitMs);
  try {
    const ends = await Promise.all(runs.map((run) => run.ended));
    return {
      cpuMs: ends.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
      rssBytesMax: memory.most,
      failures: ends.flatMap(({ code, said }, k) =>
        code === 0 ? [] : [`${programs[k]?.command.join(' ')}: ended with ${code}: ${said.trim()}`],
      ),
    };
  } finally {
    clearInterval(watching);
    clearTimeout(limit);
  }
}

interface OneEnd {
  readonly code: number | null;
  readonly cpuMs: number;
  readonly said: string;
}

/** Starts each in its own process group, which identifies its children and is ended with it. */
function startOne({ command, cwd, env, input = '' }: Program): {
  child: ChildProcess;
  ended: Promise<OneEnd>;
} {
  const child = spawn('sh', ['-c', shell, 'sh', ...command], {
    cwd,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', () => {}).end(input);
  // A signal to this process, even from a terminal, does not reach another group.
  killAtExit(child, () => killGroup(child));
  let said = '';
  let times = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-saidMax);
    });
  }
  child.stdio[3]?.on('data', (bytes: Buffer) => {
    times += bytes.toString();
  });
  const ended = once(child, 'close').then(([code]): OneEnd => {
    // If a program is killed, its shell is killed as well and prints no times.
    const cpuMs = code === 0 ? childrenCpuMs(times) : 0;
    return { code: code as number | null, cpuMs, said };
  });
  return { child, ended };
}

function killGroup({ pid, exitCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}

/**
 * User and system time on the second line of the output of the shell's `times`.
 *
 * @throws if it is no such output
 */
export function childrenCpuMs(times: string): number {
  const line = times.trim().split('\n')[1] ?? '';
  const parts = [...line.matchAll(/(\d+)m([\d.]+)s/g)];
  if (parts.length !== 2) throw new Error(`no times of a shell: ${JSON.stringify(times)}`);
  return parts.reduce((sum, [, m, s]) => sum + Number(m) * 60_000 + Number(s) * 1000, 0);
}

/** The largest sum of the memory of some process groups, without their shells. */
class MemoryWatch {
  readonly #groups: ReadonlySet<number>;
  most = Number.NaN;

  constructor(groups: readonly number[]) {
    this.#groups = new Set(groups);
  }

  look(): void {
    if (!fs.existsSync('/proc/self/stat')) return;
    let sum = 0;
    for (const name of fs.readdirSync('/proc')) {
      const pid = Number(name);
      if (!(pid > 0) || this.#groups.has(pid)) continue;
      sum += this.#rssOf(pid);
    }
    this.most = Number.isNaN(this.most) ? sum : Math.max(this.most, sum);
  }

  #rssOf(pid: number): number {
    try {
      // The name, in parentheses, may contain anything. State, parent and group follow.
      const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
      const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
      if (!this.#groups.has(group)) return 0;
      const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    } catch {
      // It has ended meanwhile.
      return 0;
    }
  }
}
