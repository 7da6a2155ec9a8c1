// A cluster of real agent processes on the synthetic web, for tests that break it: each agent is
// started as a user starts it on a machine of its own, so without a launch that watches over it.
// The verbs are the faults; everything waits for something seen, with a limit, and whatever is left
// at the end of a test is killed by its process id.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { recordCompletion } from '../../agent/cli/state-files/completion-file.ts';
import { askAgent } from '../../agent/messaging/control-client.ts';
import { wallMs } from '../../agent/runtime/clock.ts';
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
  /** a1 to aN; each is started when the test says so. */
  readonly agents: number;
  /** A web to be made, or one that runs already. */
  readonly web?: PartialWebOptions | RunningWeb;
  /** More seeds, beside the web's first page. */
  readonly seeds?: readonly string[];
  readonly delayMs?: number;
  readonly heartbeatMs?: number;
  readonly suspectAfterMs?: number;
  readonly backups?: number;
  readonly quorum?: 'none' | 'majority';
  readonly threads?: number;
  /** Keys of the section `http`, besides its own. */
  readonly http?: Readonly<Record<string, unknown>>;
  /** What the fields above do not say: whole sections of the config, which replace its own. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Where agents listen and are reached, if not at free ports of loopback. */
  readonly listeners?: readonly { listen: string; address?: string }[];
  /** The environment of each process of an agent, beside the test's. Asked as it is started. */
  readonly env?: (id: string) => Readonly<Record<string, string>>;
}

/** How often each fault is tried: `CHAOS_RUNS=20 node --test test/chaos/process-kill.test.ts`. */
export const runs = Math.max(1, Number(process.env.CHAOS_RUNS ?? 1));

/** A test of one fault, as often as {@link runs} says, on another web each time. */
export function fault(claim: string, body: (t: TestContext, run: number) => Promise<void>): void {
  for (let run = 1; run <= runs; run++) {
    test(runs === 1 ? claim : `${claim} (${run} of ${runs})`, (t) => body(t, run));
  }
}

/** All that is waited for comes within this, or the test has failed. */
const waitMsMax = 90_000;
const pollMs = 20;
/** Longer than an agent waits for the others (1.5 s). */
const answerMsMax = 4000;
/** A web that two agents a core crawl in some seconds, most of which they wait. */
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
  /** The present or last process of each agent. */
  readonly #runs = new Map<string, AgentRun>();
  /** How often each had joined before its present process began. */
  readonly #joinsBefore = new Map<string, number>();
  readonly #ownsWeb: boolean;
  readonly #env: NonNullable<ClusterOptions['env']>;
  /** Final answers seen so far, and how far the log has been read. */
  readonly #seen = new Set<string>();
  #read = 0;

  private constructor(web: RunningWeb, ports: readonly number[], options: ClusterOptions) {
    this.web = web;
    this.#ownsWeb = web !== options.web;
    this.#env = options.env ?? (() => ({}));
    this.delayMs = options.delayMs ?? 60;
    this.heartbeatMs = options.heartbeatMs ?? 100;
    // The lease, 0.6 of it, must outlast what a busy machine withholds from an agent that is well.
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

  /** Makes the web and the config, and has the rest cleaned up after the test. Starts no agent. */
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

  // ---- what befalls agents

  /** Resolves when the agent listens; fails if it ends before. */
  async start(id: string, options?: StartOptions): Promise<AgentRun> {
    const run = this.launch(id, options);
    await this.until(`${id} listens`, () => {
      assert.equal(run.end, null, `${id} ended at its start: ${run.end?.stderr}`);
      return run.isListening;
    });
    return run;
  }

  /** Starts the process and waits for nothing. */
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

  /** All, or those named; at once. */
  async startAll(ids: readonly string[] = this.ids): Promise<void> {
    await Promise.all(ids.map((id) => this.start(id)));
  }

  /** SIGKILL; resolves when the process is gone. */
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

  /** SIGTERM: hands its hosts over; resolves when it has gone. */
  async leave(id: string): Promise<Ended> {
    this.run(id).signal('SIGTERM');
    return this.run(id).ended;
  }

  /** SIGKILL, and the same again at once on the same files. */
  async restart(id: string): Promise<AgentRun> {
    await this.kill(id);
    return this.start(id);
  }

  /** Deletes all that a dead agent knew; not its directory, which may be a disk of its own. */
  wipe(id: string): void {
    assert.notEqual(this.run(id).end, null, `${id} still runs`);
    const directory = path.join(this.dataDir, id);
    if (!fs.existsSync(directory)) return;
    for (const name of fs.readdirSync(directory)) {
      fs.rmSync(path.join(directory, name), { recursive: true, force: true });
    }
  }

  /** SIGKILL to all at once. */
  async powerLoss(): Promise<void> {
    await Promise.all(this.living().map((id) => this.kill(id)));
  }

  // ---- looking on

  run(id: string): AgentRun {
    const run = this.#runs.get(id);
    assert.ok(run, `${id} was never started`);
    return run;
  }

  /** Agents whose process runs or is suspended. */
  living(): string[] {
    return [...this.#runs.values()].filter(({ end }) => end === null).map(({ id }) => id);
  }

  /** Those of them that are not suspended. */
  awake(): string[] {
    return this.living().filter((id) => !this.run(id).suspended);
  }

  /** Where the agent takes commands. */
  addressOf(id: string): string {
    const address = this.#addresses.get(id);
    assert.ok(address, `no agent ${id}`);
    return address;
  }

  state(id: string): StateFile {
    return new StateFile(path.join(this.dataDir, id, 'state.sqlite'));
  }

  /** Share, in [0, 1], of what a complete crawl requests that has been answered. */
  share(): number {
    const requests = this.web.requests();
    for (; this.#read < requests.length; this.#read++) {
      const { host, path: target, status } = requests[this.#read]!;
      if (status !== 0 && target !== '/robots.txt') this.#seen.add(host + target);
    }
    return this.#seen.size / this.web.web.expected().must.size;
  }

  /** Resolves when that share of the pages is answered; fails if all agents end before. */
  async reaches(share: number): Promise<void> {
    await this.until(`${share * 100} % of the pages`, () => {
      if (this.share() >= share) return true;
      assert.ok(this.living().length > 0, `all ended at ${this.share()}: ${this.said()}`);
      return false;
    });
  }

  /** Resolves when so many more requests have ended. */
  async served(count: number): Promise<void> {
    const before = this.web.requests().length;
    await this.until(`${count} requests`, () => this.web.requests().length >= before + count);
  }

  /**
   * Resolves when the agent and the others that are awake have heard each other: each sends the
   * heartbeats that are due before it answers, so one answer of all of them shows that they heard
   * the agent, and one some heartbeats later that it has their echo.
   */
  async heard(id: string): Promise<void> {
    await this.#answeredBy(id, this.awake());
    await pause(3 * this.heartbeatMs);
    await this.#answeredBy(id, this.awake());
  }

  /** Asks the one for the status of the cluster until it has that of all these. */
  async #answeredBy(id: string, expected: readonly string[]): Promise<void> {
    for (const endMs = steadyMs() + waitMsMax; ; ) {
      const answer = await askAgent(this.addressOf(id), 'status', [], answerMsMax);
      const { agents = [] } = (answer.ok ? answer.result : {}) as { agents?: { id: string }[] };
      const answered = new Set(agents.map((agent) => agent.id));
      if (expected.every((other) => answered.has(other))) return;
      assert.ok(steadyMs() < endMs, `${id} is not heard: ${JSON.stringify(answer)}`);
    }
  }

  /** Resolves when the agent's events have one of that kind about another agent, or itself. */
  async event(id: string, kind: string, about: string): Promise<void> {
    const is = () =>
      this.state(id)
        .events(kind)
        .some(({ detail }) => (detail.agent ?? id) === about);
    await this.until(`${kind} of ${about} at ${id}`, is);
  }

  /** Resolves when the present process of the agent has joined the others. */
  async joined(id: string): Promise<void> {
    await this.until(`${id} joins`, () => {
      assert.equal(this.run(id).end, null, `${id} has ended: ${this.run(id).stderr}`);
      return this.#joinsOf(id) > (this.#joinsBefore.get(id) ?? 0);
    });
  }

  /** A damaged file is set aside by its agent, with the joins that it tells of. */
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

  // ---- the end

  /** Waits until every agent that can has ended by itself. Suspended ones are then killed. */
  async finish(limitMs = waitMsMax): Promise<Verdict> {
    await this.until('the end of the crawl', () => this.awake().length === 0, limitMs);
    for (const id of this.living()) await this.kill(id);
    const ends = await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
    const judgement = judge(this.web.web, this.web.requests(), { delayMs: this.delayMs });
    return { judgement, ends, web: this.web, state: (id) => this.state(id) };
  }

  /** Kills whatever still runs and removes all files; called after each test by itself. */
  async close(): Promise<void> {
    await this.powerLoss();
    if (this.#ownsWeb) await this.web.stop();
    this.#scratch.clean();
  }

  /** As a launch would: an agent that comes too late, or wakes, finds that there is nothing to do. */
  #noteCompletion({ code, stderr }: Ended): void {
    if (code !== 0 || !/: the crawl is complete$/m.test(stderr)) return;
    const loaded = loadConfig(this.config, { cwd: path.dirname(this.config) });
    if (loaded.ok) recordCompletion(loaded.config, { at: wallMs(), agents: this.ids });
  }
}

/** How long each page of the endless host takes, so that it costs next to nothing. */
const endlessAnswerMs = 200;

/**
 * A cluster whose crawl cannot end before the gate opens, so that the faults fall into it: one more
 * host has a page after the other until then, or as many as are said. No request is held open, since
 * that would hold up an agent that leaves. All other hosts of that site have pages without links, for
 * seeds that are given meanwhile.
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
