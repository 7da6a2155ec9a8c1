// A small crawl as an operator sees it: one config file, one data directory and the commands. Each
// command is a separate process. The log of the web server shows whether a page was lost and
// whether two agents sent requests to one host at the same time.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Scratch } from '../integration/cli-process.ts';
import { type Judgement, judge } from '../web/judge.ts';
import { type RunningWeb, startWeb } from '../web/server.ts';

const main = path.resolve(import.meta.dirname, '../../agent/main.ts');
const delayMs = 60;
const pollMs = 20;
/** Twenty times the duration of the slowest command on a busy machine. */
const commandMsMax = 120_000;
export const crawlName = 'operated';

export interface Said {
  readonly command: string;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs or has ended. */
export class Command {
  readonly child: ChildProcess;
  readonly ended: Promise<Said>;
  readonly line: string;
  stdout = '';
  stderr = '';
  end: Said | null = null;

  constructor(args: readonly string[], cwd: string) {
    this.line = args.map((arg) => path.basename(arg)).join(' ');
    this.child = spawn(process.execPath, [main, ...args], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve) => {
      // The agents of a killed launch keep its pipes open, so `close` may not be emitted.
      this.child.on('exit', (code) => {
        setImmediate(() => {
          this.end = { command: this.line, code, stdout: this.stdout, stderr: this.stderr };
          resolve(this.end);
        });
      });
    });
  }
}

export class OperatedCrawl {
  readonly web: RunningWeb;
  readonly scratch = new Scratch();
  readonly file: string;
  /** The name in the config. */
  name = crawlName;
  agents: number;
  /** Keys that make the config invalid; empty if it is valid. */
  typo: Readonly<Record<string, unknown>> = {};
  /** The running launch, or else the last one. */
  launch: Command | null = null;
  /** A state file is lost; until the next complete launch only one other agent has its copies. */
  harmed = false;
  /** Every command so far, with its exit code. */
  readonly history: string[] = [];

  private constructor(web: RunningWeb, agents: number) {
    this.web = web;
    this.agents = agents;
    this.file = path.join(this.scratch.directory, 'crawl.json');
    this.writeConfig();
  }

  static async make(seed: number, agents: number): Promise<OperatedCrawl> {
    const shares = { flaky: 0, slow: 0 };
    const web = await startWeb({ seed, hosts: 6, pages: 24, port: 0, answerMs: 3, shares });
    return new OperatedCrawl(web, agents);
  }

  get dataDir(): string {
    return this.scratch.dataDir;
  }

  writeConfig(): void {
    this.scratch.write('crawl.json', {
      name: this.name,
      seeds: [this.web.seed],
      scope: { hosts: ['*'] },
      politeness: { hostDelayMs: delayMs },
      http: { userAgent: 'operated (+https://example.org/)', allowPrivateAddresses: true },
      cluster: {
        agents: this.agents,
        failureDetector: { heartbeatMs: 200, suspectAfterMs: 3000 },
      },
      agent: { threads: 4, dataDir: 'data' },
      storage: { durability: 'process' },
      ...this.typo,
    });
  }

  /** Runs a command until it exits. */
  async run(verb: string, ...args: string[]): Promise<Said> {
    const command = new Command([verb, this.file, ...args], this.scratch.directory);
    return this.#endOf(command);
  }

  async #endOf(command: Command): Promise<Said> {
    await this.until(
      `the end of ${command.line}`,
      () => command.end !== null,
      () => {
        command.child.kill('SIGKILL');
        return command.stderr;
      },
    );
    this.history.push(`${command.line}: ${command.end!.code}`);
    return command.end!;
  }

  /** Starts a launch. Returns its output if it ends before it starts an agent, or else null. */
  async begin(...flags: string[]): Promise<Said | null> {
    assert.equal(this.isLaunched, false);
    const launch = new Command(['launch', this.file, ...flags], this.scratch.directory);
    this.launch = launch;
    const begun = () => launch.end !== null || / agents?, state in /.test(launch.stderr);
    await this.until('a launch that starts its agents or ends', begun, () => launch.stderr);
    if (launch.end !== null) this.history.push(`${launch.line}: ${launch.end.code}`);
    else this.history.push(`${launch.line}: began`);
    return launch.end;
  }

  get isLaunched(): boolean {
    return this.launch !== null && this.launch.end === null;
  }

  /** Waits for the end of the launch. */
  async finish(): Promise<Said> {
    assert.ok(this.launch);
    return this.launch.end ?? this.#endOf(this.launch);
  }

  /** Process identifiers of the running agents, from the files in their directories. */
  running(): number[] {
    const ids = fs.existsSync(this.dataDir) ? fs.readdirSync(this.dataDir) : [];
    return ids
      .map((id) => this.scratch.pid(id))
      .filter((pid) => pid !== null && isAlive(pid)) as number[];
  }

  served(): number {
    return this.web.requests().length;
  }

  judgement(): Judgement {
    return judge(this.web.web, this.web.requests(), { delayMs });
  }

  path(...names: string[]): string {
    return path.join(this.dataDir, ...names);
  }

  async until(what: string, is: () => boolean, said: () => string = () => ''): Promise<void> {
    for (let waited = 0; waited < commandMsMax; waited += pollMs) {
      if (is()) return;
      await pause(pollMs);
    }
    assert.fail(`timed out, waiting for: ${what}\n${said()}\n${this.history.join('\n')}`);
  }

  async close(): Promise<void> {
    if (this.isLaunched) this.launch?.child.kill('SIGKILL');
    this.scratch.clean();
    await this.web.stop();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
