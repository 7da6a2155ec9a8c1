// Clusters whose network a test can break: each agent has its own namespace or its own proxy. In
// addition to harness.ts they have a page that keeps the crawl open until the test lets it end, a
// check of who counts whom as a member, and a count of membership changes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { ClusterStatus } from '../../agent/cli/status/status-command.ts';
import { freePorts } from '../../bench/ports.ts';
import { type Gate, startGate } from '../integration/gate-server.ts';
import { Random } from '../simulation/random.ts';
import { judge } from '../web/judge.ts';
import type { LoggedRequest } from '../web/request-log.ts';
import { Cluster, type ClusterOptions, fault } from './harness.ts';
import { steadyMs } from './harness-process.ts';
import { assertWhole, type Costs, type Verdict } from './harness-verdict.ts';
import { Namespaces, obstacle } from './network-namespaces.ts';
import { NetworkProxy } from './network-proxy.ts';
import { healMsMax } from './storm-promises.ts';

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');
/** Maximum number of `status` answers. Each is a process of half a second. */
const looksMax = 40;
/**
 * Tolerance of the politeness delay: the web may notice late that a client aborted a request, as
 * agents do when a lease lapses.
 */
const slackMs = 50;
/** Maximum duration of a status on a busy machine. */
const lookMsMax = 20_000;

/** Membership changes of one agent. */
export interface Changes {
  readonly id: string;
  /** Number of others that it removed, plus the times that it was removed itself. */
  readonly lost: number;
  /** Time of the last change in Unix milliseconds; -Infinity if there was none. */
  readonly lastAt: number;
}

export interface Networked {
  readonly cluster: Cluster;
  /** Opened by `finish` at the latest. */
  readonly gate: Gate;
  /**
   * Resolves when all living agents have joined and know the current incarnations of each other.
   */
  agreement(): Promise<void>;
  changesSince(sinceMs: number): readonly Changes[];
}

/** A test of a fault in namespaces. It is skipped with the reason if none can be created. */
export function linkFault(
  claim: string,
  body: (t: TestContext, run: number) => Promise<void>,
): void {
  fault(claim, async (t, run) => (hindrance === null ? body(t, run) : t.skip(hindrance)));
}

const hindrance = obstacle();

/** Starts a cluster in namespaces. @param options - the size of the web and the timeouts */
export async function inNamespaces(
  t: Pick<TestContext, 'after'>,
  options: ClusterOptions,
): Promise<Networked & { readonly network: Namespaces; clientOf(id: string): string }> {
  const ids = idsOf(options.agents);
  const network = await Namespaces.make(ids);
  t.after(() => network.remove());
  const listeners = ids.map((id) => ({ listen: network.listen(id) }));
  const made = await networked(t, { ...options, listeners }, (id) => network.before(id));
  return { ...made, network, clientOf: (id) => network.address(id) };
}

/** Starts a cluster in which every agent is reached through a proxy. `seed` replays its faults. */
export async function behindProxies(
  t: Pick<TestContext, 'after'>,
  options: ClusterOptions & { readonly seed: number },
): Promise<Networked & { readonly proxies: readonly NetworkProxy[] }> {
  const ports = await freePorts(options.agents);
  const random = new Random(options.seed);
  const proxies = await Promise.all(ports.map((port) => NetworkProxy.start(port, random)));
  t.after(async () => void (await Promise.all(proxies.map((proxy) => proxy.stop()))));
  const listeners = ports.map((port, k) => ({
    listen: `tcp://127.0.0.1:${port}`,
    address: proxies[k]!.address,
  }));
  const made = await networked(t, { ...options, listeners }, () => []);
  return { ...made, proxies };
}

/** Number of selected requests that overlap at their host or come too early. */
export function straysOf(cluster: Cluster, which: (request: LoggedRequest) => boolean): number {
  const { web, delayMs } = cluster;
  const requests = givenUpInTime(cluster, web.requests().filter(which));
  const { concurrent, tooSoon } = judge(web.web, requests, { delayMs, slackMs });
  return concurrent.count + tooSoon.count;
}

/**
 * The requests, with aborted ones ended when the agent recorded the abort: a server on a busy
 * machine notices it late.
 */
function givenUpInTime(
  cluster: Cluster,
  requests: readonly LoggedRequest[],
): readonly LoggedRequest[] {
  const aborts = cluster.ids.flatMap((id) => cluster.state(id).events('abort'));
  return requests.map((request) => {
    const { host, startMs, endMs, status } = request;
    if (status !== 0) return request;
    const at = aborts
      .filter(({ detail }) => (detail.hosts as readonly string[]).includes(host))
      .map((abort) => abort.at)
      .filter((ms) => ms > startMs - cluster.suspectAfterMs && ms <= endMs);
    return at.length === 0 ? request : { ...request, endMs: Math.max(...at) };
  });
}

/** Like `assertWhole`, with the allowed slack. */
export function assertCrawled(cluster: Cluster, verdict: Verdict, costs: Costs = {}): void {
  assertWhole(verdict, { ...costs, strayMax: Number.POSITIVE_INFINITY });
  const strays = straysOf(cluster, () => true);
  const most = costs.strayMax ?? 0;
  assert.ok(strays <= most, `${strays} stray requests, ${most} allowed`);
}

/** Asserts that no agent was removed since then. */
export function assertNobodyLost({ changesSince }: Networked, sinceMs: number): void {
  const lost = changesSince(sinceMs).filter(({ lost }) => lost > 0);
  assert.deepEqual(lost, [], 'no agent should have been removed');
}

/** Asserts that all agents agree again, and did so in time after the network healed. */
export async function assertHealed(networked: Networked, healMs: number): Promise<void> {
  await networked.agreement();
  for (const { id, lastAt } of networked.changesSince(healMs)) {
    const tookMs = Math.max(0, lastAt - healMs);
    const most = healMsMax(networked.cluster);
    assert.ok(tookMs <= most, `${id}: members changed ${tookMs} ms after healing, ${most} allowed`);
  }
}

async function networked(
  t: Pick<TestContext, 'after'>,
  options: ClusterOptions,
  before: (id: string) => readonly string[],
): Promise<Networked> {
  const gate = await startGate();
  t.after(() => gate.stop());
  const cluster = await Cluster.make(t, { ...options, seeds: [gate.seed] });
  await Promise.all(cluster.ids.map((id) => cluster.start(id, { prefix: before(id) })));
  const status = async () => {
    const line = ['agent/main.ts', 'status', cluster.config, '--json', '--data', cluster.dataDir];
    const [program, ...args] = [...before(cluster.ids[0]!), process.execPath, ...line];
    const { stdout } = await run(program!, args, { cwd: root, timeout: lookMsMax });
    return JSON.parse(stdout) as ClusterStatus;
  };
  const made: Networked = {
    cluster,
    gate,
    agreement: () => agreement(cluster, status),
    changesSince: (sinceMs) => cluster.ids.map((id) => changesOf(cluster, id, sinceMs)),
  };
  await made.agreement();
  return made;
}

async function agreement(cluster: Cluster, status: () => Promise<ClusterStatus>): Promise<void> {
  let last = '';
  for (let look = 0; look < looksMax; look++) {
    const seen = await status().then(membershipsOf, (error: Error) => error.message);
    if (seen === cluster.living().length) return;
    last = String(seen);
  }
  assert.fail(`no agreement on the members: ${last}`);
}

/** The number of agents if all agree, else the view of each. */
function membershipsOf({ agents, unreachable }: ClusterStatus): number | string {
  const views = agents.map(({ id, incarnation, joined, members }) => {
    const names = members.map((m) => `${m.id}.${m.inc}${m.joined ? '' : '?'}`);
    return [...names, `${id}.${incarnation}${joined ? '' : '?'}`].sort().join(' ');
  });
  const one = new Set(views).size === 1 && !views[0]!.includes('?');
  return one && unreachable.length === 0 ? agents.length : JSON.stringify({ views, unreachable });
}

function changesOf(cluster: Cluster, id: string, sinceMs: number): Changes {
  const events = cluster
    .state(id)
    .events()
    .filter(({ at }) => at >= sinceMs);
  const kinds = new Set(['suspect', 'remove', 'rejoin', 'join']);
  const membership = events.filter(({ kind }) => kinds.has(kind));
  const lost = membership.filter(({ kind }) => kind === 'suspect' || kind === 'rejoin').length;
  return { id, lost, lastAt: Math.max(-Infinity, ...membership.map(({ at }) => at)) };
}

/** The steady clock of the web's log and of the agents' events. */
export const nowMs = steadyMs;

function idsOf(agents: number): string[] {
  return Array.from({ length: agents }, (_, k) => `a${k + 1}`);
}
