// A cluster of real agent processes on the synthetic web, for tests that break it. Each agent is
// started as a user starts it on its own machine, without a supervising launch. The methods are the
// faults. Every wait is for an observed event and has a limit, and remaining processes are killed
// by their process ids after a test.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { recordCompletion } from '../../agent/cli/state-files/completion-file.ts';
import { askAgent } from '../../agent/messaging/control-client.ts';
import { wallMs } from '../../agent/runtime/clock.ts';
import { Ring } from '../../assignment/ring.ts';
import { freePorts } from '../../bench/ports.ts';
import { loadConfig } from '../../config/file/load.ts';
import { Scratch } from '../integration/cli-process.ts';
import { judge } from '../web/judge.ts';
import type { PartialWebOptions } from '../web/options.ts';
import { type RunningWeb, startWeb } from '../web/server.ts';
import { AgentRun, type Ended, type StartOptions, steadyMs } from './harness-process.ts';
import { type Site, startSite } from './harness-site.ts';
import { StateFile } from './harness-state.ts';
import type { Verdict } from './harness-verdict.ts';

export interface ClusterOptions {
  /** a1 to aN. The test starts each of them. */
  readonly agents: number;
  /** Options of a new web, or a running web. */
  readonly web?: PartialWebOptions | RunningWeb;
  /** Seeds in addition to the web's first page. */
  readonly seeds?: readonly string[];
  readonly delayMs?: number;
  readonly heartbeatMs?: number;
  readonly suspectAfterMs?: number;
  readonly backups?: number;
  readonly quorum?: 'none' | 'majority';
  readonly threads?: number;
  /** Keys of the section `http` in addition to the default ones. */
  readonly http?: Readonly<Record<string, unknown>>;
  /** Sections of the config that replace the default ones. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Addresses where agents listen and are reached; free ports of loopback by default. */
  readonly listeners?: readonly { listen: string; address?: string }[];
  /**
   * Environment of each agent process, added to that of the test. Read when the process is started.
   */
  readonly env?: (id: string) => Readonly<Record<string, string>>;
}

/** Repetitions of each fault: `CHAOS_RUNS=20 node --test test/chaos/process-kill.test.ts`. */
export const runs = Math.max(1, Number(process.env.CHAOS_RUNS ?? 1));

/** A test of one fault, repeated {@link runs} times, each time on another web. */
export function fault(claim: string, body: (t: TestContext, run: number) => Promise<void>): void {
  for (let run = 1; run <= runs; run++) {
    test(runs === 1 ? claim : `${claim} (${run} of ${runs})`, (t) => body(t, run));
  }
}

/** Limit of every wait. After it the test fails. */
const waitMsMax = 90_000;
const pollMs = 20;
/** Longer than an agent waits for the others (1.5 s). */
const answerMsMax = 4000;
/** A web that two agents on one core crawl in some seconds, mostly waiting. */
const webSize = { hosts: 16, pages: 12, port: 0, answerMs: 5 };
const webShares = { flaky: 0, slow: 0 };

export class Cluster {
  readonly web: RunningWeb;
  readonly ids: readonly string[];
  readonly config: string;
  readonly dataDir: string;
  readonly delayMs: number;
  readonly heartbeatMs: number;
  readonly suspectAfterMs: number;
  readonly threads: number;
  readonly #scratch: Scratch;
  readonly #addresses: ReadonlyMap<string, string>;
  /** The current or last process of each agent. */
  readonly #runs = new Map<string, AgentRun>();
  /** Number of joins of each agent before its current process began. */
  readonly #joinsBefore = new Map<string, number>();
  readonly #ownsWeb: boolean;
  readonly #env: NonNullable<ClusterOptions['env']>;
  /** Final answers seen so far. `#read` is the position in the log. */
  readonly #seen = new Set<string>();
  #read = 0;

  private constructor(web: RunningWeb, ports: readonly number[], options: ClusterOptions) {
    this.web = web;
    this.#ownsWeb = web !== options.web;
    this.#env = options.env ?? (() => ({}));
    this.delayMs = options.delayMs ?? 60;
    this.heartbeatMs = options.heartbeatMs ?? 100;
    // The lease, 0.6 of it, must outlast the delays of a healthy agent on a busy machine.
    this.suspectAfterMs = options.suspectAfterMs ?? 3000;
    this.threads = options.threads ?? 8;
    this.ids = ports.map((_, k) => `a${k + 1}`);
    this.#scratch = new Scratch();
    this.dataDir = this.#scratch.dataDir;
    const { certificate } = web;
    if (certificate !== null) this.#scratch.write('authority.pem', certificate);
    const tls = certificate === null ? {} : { tls: { ca: 'authority.pem' } };
    const userAgent = 'chaos (+https://example.org/)';
    const http = { userAgent, allowPrivateAddresses: true, ...tls, ...options.http };
    const listeners = ports.map((port, k): { listen: string; address?: string } => {
      return options.listeners?.[k] ?? { listen: `tcp://127.0.0.1:${port}` };
    });
    this.#addresses = new Map(
      this.ids.map((id, k) => [id, listeners[k]!.address ?? listeners[k]!.listen]),
    );
    this.config = this.#scratch.write('crawl.json', {
      name: 'chaos',
      seeds: [web.seed, ...(options.seeds ?? [])],
      scope: { hosts: ['*'] },
      politeness: { hostDelayMs: this.delayMs },
      http,
      cluster: {
        agents: this.ids.map((id, k) => ({ id, ...listeners[k] })),
        backups: options.backups ?? 1,
        quorum: options.quorum ?? 'none',
        failureDetector: { heartbeatMs: this.heartbeatMs, suspectAfterMs: this.suspectAfterMs },
      },
      agent: { threads: this.threads, dataDir: 'data' },
      // No test cuts the power, and the disk may be busy.
      storage: { durability: 'process' },
      ...options.config,
    });
  }

  /** Creates the web and the config, to be removed after the test. Starts no agent. */
  static async make(t: Pick<TestContext, 'after'>, options: ClusterOptions): Promise<Cluster> {
    const ports = await freePorts(options.agents);
    const given = options.web ?? {};
    const web = isRunning(given)
      ? given
      : await startWeb({ ...webSize, ...given, shares: { ...webShares, ...given.shares } });
    const cluster = new Cluster(web, ports, options);
    t.after(() => cluster.close());
    return cluster;
  }

  // ---- faults

  /** Resolves when the agent listens; fails if it ends before. */
  async start(id: string, options?: StartOptions): Promise<AgentRun> {
    const run = this.launch(id, options);
    await this.until(`${id} listens`, () => {
      assert.equal(run.end, null, `${id} ended at its start: ${run.end?.stderr}`);
      return run.isListening;
    });
    return run;
  }

  /** Starts the process without waiting. */
  launch(id: string, options: StartOptions = {}): AgentRun {
    const before = this.#runs.get(id);
    assert.ok(before === undefined || before.end !== null, `${id} still runs`);
    this.#joinsBefore.set(id, this.#joinsLeft(id));
    const env = { ...this.#env(id), ...options.env };
    const run = new AgentRun(id, this, { ...options, env });
    this.#runs.set(id, run);
    void run.ended.then((ended) => this.#noteCompletion(ended));
    return run;
  }

  /** Starts all agents, or the given ones, at once. */
  async startAll(ids: readonly string[] = this.ids): Promise<void> {
    await Promise.all(ids.map((id) => this.start(id)));
  }

  /** Sends SIGKILL. Resolves when the process has ended. */
  async kill(id: string): Promise<Ended> {
    this.run(id).signal('SIGKILL');
    return this.run(id).ended;
  }

  suspend(id: string): void {
    this.run(id).signal('SIGSTOP');
  }

  resume(id: string): void {
    this.run(id).signal('SIGCONT');
  }

  /** Sends SIGTERM, so that the agent hands over its hosts. Resolves when it has ended. */
  async leave(id: string): Promise<Ended> {
    this.run(id).signal('SIGTERM');
    return this.run(id).ended;
  }

  /** Sends SIGKILL and starts the agent again at once on the same files. */
  async restart(id: string): Promise<AgentRun> {
    await this.kill(id);
    return this.start(id);
  }

  /** Deletes all files of a dead agent, but not its directory, which may be a mounted disk. */
  wipe(id: string): void {
    assert.notEqual(this.run(id).end, null, `${id} still runs`);
    const directory = path.join(this.dataDir, id);
    if (!fs.existsSync(directory)) return;
    for (const name of fs.readdirSync(directory)) {
      fs.rmSync(path.join(directory, name), { recursive: true, force: true });
    }
  }

  /** Sends SIGKILL to all agents at once. */
  async powerLoss(): Promise<void> {
    await Promise.all(this.living().map((id) => this.kill(id)));
  }

  // ---- observations

  run(id: string): AgentRun {
    const run = this.#runs.get(id);
    assert.ok(run, `${id} was never started`);
    return run;
  }

  /** Agents whose process is running or suspended. */
  living(): string[] {
    return [...this.#runs.values()].filter(({ end }) => end === null).map(({ id }) => id);
  }

  /** Living agents that are not suspended. */
  awake(): string[] {
    return this.living().filter((id) => !this.run(id).suspended);
  }

  /** Address for commands to the agent. */
  addressOf(id: string): string {
    const address = this.#addresses.get(id);
    assert.ok(address, `no agent ${id}`);
    return address;
  }

  state(id: string): StateFile {
    return new StateFile(path.join(this.dataDir, id, 'state.sqlite'));
  }

  /** Share, in [0, 1], of the required pages that has been answered. */
  share(): number {
    const requests = this.web.requests();
    for (; this.#read < requests.length; this.#read++) {
      const { host, path: target, status } = requests[this.#read]!;
      if (status !== 0 && target !== '/robots.txt') this.#seen.add(host + target);
    }
    return this.#seen.size / this.web.web.expected().must.size;
  }

  /** Resolves when this share of the pages is answered; fails if all agents end before. */
  async reaches(share: number): Promise<void> {
    await this.until(`${share * 100} % of the pages`, () => {
      if (this.share() >= share) return true;
      assert.ok(this.living().length > 0, `all ended at ${this.share()}: ${this.said()}`);
      return false;
    });
  }

  /** Resolves when this many more requests have ended. */
  async served(count: number): Promise<void> {
    const before = this.web.requests().length;
    await this.until(`${count} requests`, () => this.web.requests().length >= before + count);
  }

  /**
   * Resolves when the agent and the other awake agents have heard each other. Each agent sends its
   * due heartbeats before it answers. So one answer of all shows that they heard the agent, and
   * another some heartbeats later shows that the agent has their echo.
   */
  async heard(id: string): Promise<void> {
    await this.#answeredBy(id, this.awake());
    await pause(3 * this.heartbeatMs);
    await this.#answeredBy(id, this.awake());
  }

  /** Requests the status of the cluster from the agent until it includes all expected agents. */
  async #answeredBy(id: string, expected: readonly string[]): Promise<void> {
    for (const endMs = steadyMs() + waitMsMax; ; ) {
      const answer = await askAgent(this.addressOf(id), 'status', [], answerMsMax);
      const { agents = [] } = (answer.ok ? answer.result : {}) as { agents?: { id: string }[] };
      const answered = new Set(agents.map((agent) => agent.id));
      if (expected.every((other) => answered.has(other))) return;
      assert.ok(steadyMs() < endMs, `${id} does not hear all agents: ${JSON.stringify(answer)}`);
    }
  }

  /** Resolves when the agent has recorded such an event about another agent, or about itself. */
  async event(id: string, kind: string, about: string): Promise<void> {
    const is = () =>
      this.state(id)
        .events(kind)
        .some(({ detail }) => (detail.agent ?? id) === about);
    await this.until(`${kind} of ${about} at ${id}`, is);
  }

  /** Resolves when the current process of the agent has joined. */
  async joined(id: string): Promise<void> {
    await this.until(`${id} joins`, () => {
      assert.equal(this.run(id).end, null, `${id} has ended: ${this.run(id).stderr}`);
      return this.#joinsOf(id) > (this.#joinsBefore.get(id) ?? 0);
    });
  }

  /** An agent sets a damaged file aside, and with it the recorded joins. */
  #joinsLeft(id: string): number {
    try {
      return this.#joinsOf(id);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return 0;
      throw error;
    }
  }

  #joinsOf(id: string): number {
    const own = this.state(id).events('join');
    return own.filter(({ detail }) => detail.agent === id).length;
  }

  async until(what: string, is: () => boolean, limitMs = waitMsMax): Promise<void> {
    const end = steadyMs() + limitMs;
    while (!is()) {
      assert.ok(steadyMs() < end, `not within ${limitMs} ms: ${what}; ${this.said()}`);
      await pause(pollMs);
    }
  }

  said(): string {
    return [...this.#runs.values()].map(({ id, stderr }) => `${id}: ${stderr.trim()}`).join('\n');
  }

  // ---- end

  /** Waits until every awake agent has ended by itself. Then kills suspended agents. */
  async finish(limitMs = waitMsMax): Promise<Verdict> {
    await this.until('the end of the crawl', () => this.awake().length === 0, limitMs);
    for (const id of this.living()) await this.kill(id);
    const ends = await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
    const judgement = judge(this.web.web, this.web.requests(), { delayMs: this.delayMs });
    return { judgement, ends, web: this.web, state: (id) => this.state(id) };
  }

  /** Kills remaining processes and removes all files. Called automatically after each test. */
  async close(): Promise<void> {
    await this.powerLoss();
    if (this.#ownsWeb) await this.web.stop();
    this.#scratch.clean();
  }

  /**
   * Records completion as a launch would, so that an agent that starts or wakes later finds no
   * work.
   */
  #noteCompletion({ code, stderr }: Ended): void {
    if (code !== 0 || !/: the crawl is complete$/m.test(stderr)) return;
    const loaded = loadConfig(this.config, { cwd: path.dirname(this.config) });
    if (loaded.ok) recordCompletion(loaded.config, { at: wallMs(), agents: this.ids });
  }
}

/** The ring of agents of capacity 1 with the default number of points. */
export function ringOf(ids: readonly string[]): Ring {
  const members = ids.map((id) => ({ id, capacity: 1 }));
  return new Ring(members, {
    replicas: 200,
    sha256: (text) => hash('sha256', text, 'buffer'),
  });
}

/** Duration of each page of the endless host, so that it costs almost nothing. */
const endlessAnswerMs = 200;

/**
 * A cluster whose crawl cannot end before the gate opens, so that the faults happen during the
 * crawl. Until then one more host, or the given number of hosts, serves an endless chain of pages.
 * No request is held open, because that would delay an agent that leaves. All other hosts of that
 * site have pages without links, for seeds that are added during the crawl.
 */
export async function gated(
  t: Pick<TestContext, 'after'>,
  options: ClusterOptions & { readonly endless?: readonly number[] },
): Promise<{ gate: { open(): void }; cluster: Cluster; site: Site }> {
  let isOpen = false;
  const endless = new Set(options.endless ?? [0]);
  const site = await startSite(async (host, target) => {
    if (target === '/robots.txt') return {};
    if (!endless.has(host)) return { body: `no more than ${target}` };
    await pause(endlessAnswerMs);
    return { body: isOpen ? '' : `<a href="/${Number(target.slice(1)) + 1}">on</a>` };
  });
  t.after(() => site.stop());
  const seeds = [...[...endless].map((host) => `${site.origin(host)}/0`), ...(options.seeds ?? [])];
  const config = { limits: { depthPerHost: 100_000 }, ...options.config };
  const open = () => {
    isOpen = true;
  };
  return { gate: { open }, cluster: await Cluster.make(t, { ...options, seeds, config }), site };
}

function isRunning(web: PartialWebOptions | RunningWeb): web is RunningWeb {
  return 'requests' in web;
}
