// Runs the command line as a user does, with a data directory and ports for each test. A command
// that crawls runs as a process. A command that reads a crawl or sends a directive is called in
// this process, which takes a tenth of the time. Processes that a test leaves behind are killed.

import assert from 'node:assert/strict';
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { type Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { commandLine } from '../../agent/cli/command-line.ts';
import { freePorts } from '../../bench/ports.ts';

const main = path.resolve(import.meta.dirname, '../../agent/main.ts');
/** Time after which a process has failed. A crawl of a test takes seconds, on a busy machine a minute. */
const commandMsMax = 180_000;
const pollMs = 20;
/** Pause between two repetitions of a command, since each costs the agents some work. */
const askMs = 100;
/** Commands that handle signals, start processes or read the standard input. */
const processes = new Set(['launch', 'agent', 'kill', 'check']);

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** The output so far. */
  stderr(): string;
  stdout(): string;
}

/** What a process has written; the texts grow while it runs. */
export function outputOf({ stdout, stderr }: ChildProcessByStdio<null, Readable, Readable>) {
  const said = { stdout: '', stderr: '' };
  stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  return said;
}

/**
 * Starts a command. A launch serves no dashboard, which would be one more process for each test.
 *
 * @param more - variables added to the environment
 * @param msMax - time after which the command is killed
 */
export function start(
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
  msMax = commandMsMax,
): Running {
  return startAsGiven(args[0] === 'launch' ? [...args, '--no-monitor'] : args, more, msMax);
}

/** Like `start`, but a launch serves the dashboard. */
export function startAsGiven(
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
  msMax = commandMsMax,
): Running {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...environment(), ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = outputOf(child);
  const limit = setTimeout(() => {
    said.stderr += `\nkilled by the test after ${msMax / 1000} s`;
    child.kill('SIGKILL');
    // The agents of a killed launch keep its pipes open, which would prevent `close`.
    child.stdout.destroy();
    child.stderr.destroy();
  }, msMax);
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => {
      clearTimeout(limit);
      resolve({ code, ...said });
    });
  });
  return { child, ended, stderr: () => said.stderr, stdout: () => said.stdout };
}

/** The environment of a user, without the variable that npm adds. */
function environment(): NodeJS.ProcessEnv {
  const { npm_lifecycle_event: _script, ...env } = process.env;
  return env;
}

/** Runs a command until it ends. */
export function run(...args: string[]): Promise<Ended> {
  return processes.has(args[0] ?? '') ? runProcess(...args) : call(args);
}

/** Runs a command as a process even if it could be called. */
export function runProcess(...args: string[]): Promise<Ended> {
  return start(args).ended;
}

/** Number of commands that are being called, and the umask before the first of them. */
const calls = { open: 0, umask: 0 };

/**
 * Calls a command in this process with its own streams; also for a launch that is refused at once.
 *
 * @param more - variables added to the environment
 */
export async function call(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const [stdout, stderr] = [new Kept(), new Kept()];
  // A command narrows the umask of its process.
  if (calls.open++ === 0) calls.umask = process.umask();
  try {
    const code = await commandLine({
      argv: [process.execPath, main, ...args],
      env: { ...environment(), ...more },
      stdout,
      stderr,
      heard: { messages: [], output: false },
    });
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    if (--calls.open === 0) process.umask(calls.umask);
  }
}

class Kept extends Writable {
  readonly #pieces: Buffer[] = [];

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#pieces.push(piece);
    done();
  }

  text(): string {
    return Buffer.concat(this.#pieces).toString();
  }
}

/**
 * Keys of `cluster` for a crawl whose requests are counted. An agent that a busy machine stalls for
 * 0.6 of `suspectAfterMs` requests its open pages again.
 */
export const patient = { failureDetector: { heartbeatMs: 100, suspectAfterMs: 60_000 } };

/** A directory for the configs and data of one test. */
export class Scratch {
  readonly directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-cli-'));
  readonly dataDir = path.join(this.directory, 'data');

  /** Writes a config for agents a1 to aN at free ports. */
  async config(
    agents: number,
    more: Readonly<Record<string, unknown>> = {},
    cluster: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const ports = await freePorts(agents);
    return this.write('crawl.json', {
      name: 'cli-test',
      seeds: ['http://127.0.0.1:1/'],
      scope: { hosts: ['*'] },
      politeness: { hostDelayMs: 40 },
      http: { userAgent: 'cli-test (+https://example.org/)', allowPrivateAddresses: true },
      cluster: {
        agents: ports.map((port, k) => ({ id: `a${k + 1}`, listen: `tcp://127.0.0.1:${port}` })),
        failureDetector: { heartbeatMs: 100, suspectAfterMs: 2000 },
        ...cluster,
      },
      agent: { threads: 8, dataDir: 'data' },
      // Tests do not cut the power, and fsync is slow on a busy disk.
      storage: { durability: 'process' },
      ...more,
    });
  }

  write(name: string, what: unknown): string {
    const file = path.join(this.directory, name);
    fs.writeFileSync(file, typeof what === 'string' ? what : JSON.stringify(what));
    return file;
  }

  /** The process identifier of the agent, or null if it does not run. */
  pid(id: string): number | null {
    try {
      return Number(fs.readFileSync(path.join(this.dataDir, id, 'agent.pid'), 'utf8'));
    } catch {
      return null;
    }
  }

  /** Kills the agents that still run, and removes the directory. */
  clean(): void {
    const ids = fs.existsSync(this.dataDir) ? fs.readdirSync(this.dataDir) : [];
    for (const pid of ids.map((id) => this.pid(id))) {
      try {
        if (pid !== null && pid > 1) process.kill(pid, 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    }
    fs.rmSync(this.directory, { recursive: true, force: true });
  }
}

export function listening(port: number): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => resolve(server));
  });
}

/** Polls until `is` holds; fails after `commandMsMax`. */
export async function until(what: string, is: () => boolean): Promise<void> {
  for (let waited = 0; waited < commandMsMax; waited += pollMs) {
    if (is()) return;
    await pause(pollMs);
  }
  assert.fail(`timed out, waiting for: ${what}`);
}

/** Like `until`, for a condition that needs a command. */
export async function untilAsked(what: string, is: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < commandMsMax; waited += askMs) {
    if (await is()) return;
    await pause(askMs);
  }
  assert.fail(`timed out, waiting for: ${what}`);
}

/** Waits until exactly these agents are one cluster that all of them have joined. */
export function untilJoined(config: string, ...ids: string[]): Promise<void> {
  return untilAsked(`one cluster of ${ids.join(', ')}`, async () => {
    const { stdout, code } = await run('status', config, '--json');
    if (code !== 0 && stdout === '') return false;
    const { agents = [] } = JSON.parse(stdout) as { agents?: JoinedAgent[] };
    const whole = agents.filter((one) => one.joined && one.members.length === ids.length - 1);
    return whole.map(({ id }) => id).join() === ids.join();
  });
}

interface JoinedAgent {
  readonly id: string;
  readonly joined: boolean;
  readonly members: readonly unknown[];
}
