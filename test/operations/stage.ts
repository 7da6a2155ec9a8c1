// The environment in which a situation is played. It runs the commands of a small crawl as
// processes, keeps their output, and can run the commands that they print.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type Ended, type Running, Scratch, start, until } from '../integration/cli-process.ts';
import { type Gate, startGate } from '../integration/gate-server.ts';

/** Longer than any situation, since an agent may run for all of it. */
const commandMsMax = 300_000;

export class Stage {
  readonly scratch = new Scratch();
  /** Serves the only page of the crawl; opening the gate lets the crawl end. */
  readonly gate: Gate;
  /** The path of the config, which `configure` writes. */
  config = '';
  readonly #said: Running[] = [];
  #noted = '';

  private constructor(gate: Gate) {
    this.gate = gate;
  }

  static async make(agents: number, more: Readonly<Record<string, unknown>> = {}): Promise<Stage> {
    const stage = new Stage(await startGate());
    await stage.configure(agents, more);
    return stage;
  }

  async configure(agents: number, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    this.config = await this.scratch.config(agents, { seeds: [this.gate.seed], ...more });
  }

  /** Edits the current config, so that agents and ports are kept unless `change` replaces them. */
  edit(change: (config: EditedConfig) => void): void {
    const config = JSON.parse(fs.readFileSync(this.config, 'utf8'));
    change(config);
    fs.writeFileSync(this.config, JSON.stringify(config));
  }

  path(...names: string[]): string {
    return path.join(this.scratch.dataDir, ...names);
  }

  state(id: string): string {
    return this.path(id, 'state.sqlite');
  }

  begin(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const running = start(args, env, commandMsMax);
    this.#said.push(running);
    return running;
  }

  /** Runs a command of the crawl, which must end with this code. */
  async run(code: number, verb: string, ...args: string[]): Promise<Ended> {
    const ended = await this.begin([verb, this.config, ...args]).ended;
    const all = `${verb} ${args.join(' ')} ended with ${ended.code}: ${ended.stdout}${ended.stderr}`;
    assert.equal(ended.code, code, all);
    return ended;
  }

  /** Starts a launch or an agent, and resolves when the agents run. */
  async runs(ids: readonly string[], verb: string, ...args: string[]): Promise<Running> {
    const running = this.begin([verb, this.config, ...args]);
    await this.until(`${ids}: running`, () => ids.every((id) => this.isUp(id, running)));
    return running;
  }

  isUp(id: string, by: Running): boolean {
    assert.equal(by.child.exitCode, null, by.stderr());
    return this.scratch.pid(id) !== null;
  }

  until(what: string, is: () => boolean): Promise<void> {
    return until(what, is);
  }

  /** Completes the crawl and audits it. */
  async completes(...flags: string[]): Promise<void> {
    this.gate.open();
    await this.run(0, 'launch', ...flags);
    await this.run(0, 'audit', ...flags.filter((flag, k) => isData(flag) || isData(flags[k - 1])));
  }

  /** The words of the last printed command with this verb, as a shell would split them. */
  printed(verb: string): string[] {
    const commands = [...this.said().matchAll(/\bubiring ([a-z]+ [^\n]*)/g)].map(
      ([, line]) => line!,
    );
    const line = commands.findLast((text) => text.startsWith(`${verb} `));
    assert.ok(line !== undefined, `no command '${verb}' was printed: ${this.said()}`);
    const words = line.matchAll(/'((?:[^']|'\\'')*)'|"([^"]*)"|(\S+)/g);
    return [...words].map(([, single, double, bare]) => single ?? double ?? bare!);
  }

  /** Runs the last printed command with this verb. */
  async follow(code: number, verb: string): Promise<Ended> {
    const [command, config, ...args] = this.printed(verb);
    assert.equal(config, this.config);
    return this.run(code, command!, ...args);
  }

  /** Adds the output of a command that this stage did not run. */
  note(text: string): void {
    this.#noted += `${text}\n`;
  }

  said(): string {
    return (
      this.#noted + this.#said.map((running) => running.stderr() + running.stdout()).join('\n')
    );
  }

  async close(): Promise<void> {
    for (const { child } of this.#said) child.kill('SIGKILL');
    this.scratch.clean();
    await this.gate.stop();
  }
}

/** The keys of a config that situations change. */
export interface EditedConfig {
  name: string;
  seeds: string[];
  [key: string]: unknown;
}

function isData(word: string | undefined): boolean {
  return word === '--data';
}
