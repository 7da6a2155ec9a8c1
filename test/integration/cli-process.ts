// Runs the command line as a user does, on a data directory and ports of its own. What crawls is a
// process of its own; a command that looks at a crawl or gives an order is called in this process,
// which takes a tenth of the time. Whatever a test leaves running is killed when it ends.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { commandLine } from '../../agent/cli/command-line.ts';
import { freePorts } from '../../bench/ports.ts';

const main = path.resolve(import.meta.dirname, '../../agent/main.ts');
/** A command that takes so long has failed: some ten times what one takes on a busy machine. */
const commandMsMax = 60_000;
const pollMs = 20;
/** Between two commands that ask the same; each costs the agents some work. */
const askMs = 100;
/** Commands that have signals, children or the standard input of their own. */
const processes = new Set(['launch', 'agent', 'kill', 'check']);

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it has said so far. */
  stderr(): string;
  stdout(): string;
}

/**
 * @param more - in its environment, beside the test's own
 * @param msMax - after which it is killed
 */
export function start(
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
  msMax = commandMsMax,
): Running {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...environment(), ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  const limit = setTimeout(() => {
    said.stderr += `\nkilled by the test after ${msMax / 1000} s`;
    child.kill('SIGKILL');
    // Agents that a launch leaves behind hold its pipes, and there would be no `close`.
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

/** As a user calls it, also where the tests are run by npm. */
function environment(): NodeJS.ProcessEnv {
  const { npm_lifecycle_event: _script, ...env } = process.env;
  return env;
}

/** Runs a command to its end. */
export function run(...args: string[]): Promise<Ended> {
  return processes.has(args[0] ?? '') ? runProcess(...args) : call(args);
}

/** The same where the process is what the test is about. */
export function runProcess(...args: string[]): Promise<Ended> {
  return start(args).ended;
}

/** Commands that are called at the moment, and the mask of file modes that was there before them. */
const calls = { open: 0, umask: 0 };

/** In this process, with streams that nobody else writes to; also a launch that is refused at once. */
export async function call(args: readonly string[]): Promise<Ended> {
  const [stdout, stderr] = [new Kept(), new Kept()];
  // A command narrows the mask for the rest of its process.
  if (calls.open++ === 0) calls.umask = process.umask();
  try {
    const code = await commandLine({
      argv: [process.execPath, main, ...args],
      env: environment(),
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

/** A directory for one test, with configs and data in it. */
export class Scratch {
  readonly directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-cli-'));
  readonly dataDir = path.join(this.directory, 'data');

  /** Writes a config for agents a1 to aN at free ports. */
  async config(agents: number, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
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
      },
      agent: { threads: 8, dataDir: 'data' },
      // No test cuts the power, and the disk may be busy.
      storage: { durability: 'process' },
      ...more,
    });
  }

  write(name: string, what: unknown): string {
    const file = path.join(this.directory, name);
    fs.writeFileSync(file, typeof what === 'string' ? what : JSON.stringify(what));
    return file;
  }

  /** Of the agent that runs there; null while none does. */
  pid(id: string): number | null {
    try {
      return Number(fs.readFileSync(path.join(this.dataDir, id, 'agent.pid'), 'utf8'));
    } catch {
      return null;
    }
  }

  /** Kills what still runs on the data directory, and removes it. */
  clean(): void {
    const ids = fs.existsSync(this.dataDir) ? fs.readdirSync(this.dataDir) : [];
    for (const pid of ids.map((id) => this.pid(id))) {
      try {
        if (pid !== null && pid > 1) process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
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

/** Looks again and again until `is` holds; fails after a while. */
export async function until(what: string, is: () => boolean): Promise<void> {
  for (let waited = 0; waited < commandMsMax; waited += pollMs) {
    if (is()) return;
    await pause(pollMs);
  }
  assert.fail(`never came: ${what}`);
}

/** As `until`, where a command has to be run to know. */
export async function untilAsked(what: string, is: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < commandMsMax; waited += askMs) {
    if (await is()) return;
    await pause(askMs);
  }
  assert.fail(`never came: ${what}`);
}

/** Until these agents, and no others, are one cluster that all of them have joined. */
export function untilJoined(config: string, ...ids: string[]): Promise<void> {
  return untilAsked(`one cluster of ${ids.join(', ')}`, async () => {
    const { stdout, code } = await run('status', config, '--json');
    if (code !== 0 && stdout === '') return false;
    const { agents } = JSON.parse(stdout) as { agents: JoinedAgent[] };
    const whole = agents.filter((one) => one.joined && one.members.length === ids.length - 1);
    return whole.map(({ id }) => id).join() === ids.join();
  });
}

interface JoinedAgent {
  readonly id: string;
  readonly joined: boolean;
  readonly members: readonly unknown[];
}
