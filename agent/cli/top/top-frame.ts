// The contents of one frame of `top` and of `launch`: the last answers of the agents, the rates of
// the last minute, totals that do not fall when an agent dies, and problems that last.

import { type ConfiguredMember, membersOf } from '../../../config/config.ts';
import { type Placement, placementOf } from '../../composition/placement.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { crawlTitle, type ResolvedConfig } from '../common/load-config.ts';
import { type Progress, ProgressMeter, type Reported } from '../status/crawl-progress.ts';
import type { ClusterStatus } from '../status/status-command.ts';
import { CopyLags, type Problem, problemsOf, type Watched } from './problems.ts';
import { RateHistory } from './rate-history.ts';
import { unreadableStates } from './unreadable-states.ts';

/** The key of the rate of all agents: no agent has an empty identifier. */
const ALL = '';

export interface TopFrame {
  readonly crawl: string;
  readonly cluster: ClusterStatus;
  readonly progress: Progress;
  readonly problems: readonly Problem[];
  /** Failed requests of the agents that answer, by class, most first. */
  readonly failures: readonly (readonly [failure: string, requests: number])[];
  /** Pages a second in each of `columns` parts of the last minute, of an agent or, with '', of all. */
  readonly rates: (id: string, columns: number) => readonly (number | null)[];
  /** The agent that owns a host among those that answer. */
  readonly ownerOf: (host: string) => string | undefined;
}

export class TopFrames {
  readonly #config: ResolvedConfig;
  readonly #meter: ProgressMeter;
  readonly #history = new RateHistory();
  readonly #lags = new CopyLags();
  /** The last answer of each agent. */
  readonly #last = new Map<string, AgentStatus>();
  /** The last placement: that of a thousand agents takes seconds. */
  #placed: { readonly key: string; readonly placement: Placement } | null = null;

  constructor(config: ResolvedConfig) {
    this.#config = config;
    this.#meter = new ProgressMeter(config.cluster.backups > 0);
  }

  /** The agents that have answered so far. */
  get known(): string[] {
    return [...this.#last.keys()];
  }

  /**
   * @param now - monotonic milliseconds
   * @param reported - agents that start count as alive before they answer
   */
  next(cluster: ClusterStatus, now: number, reported?: readonly Reported[]): TopFrame {
    const { agents, unreachable } = cluster;
    for (const agent of agents) this.#last.set(agent.id, agent);
    const rates = new Map(agents.map(({ id, pagesPerSecond }) => [id, pagesPerSecond]));
    const all = agents.reduce((sum, { pagesPerSecond }) => sum + pagesPerSecond, 0);
    this.#history.add(now, rates.set(ALL, all));
    const silent = unreachable.map((id) => ({ alive: false, status: this.#last.get(id) ?? null }));
    const living = agents.map((status) => ({ alive: true, status }));
    return {
      crawl: crawlTitle(this.#config),
      cluster,
      progress: this.#meter.at(now, reported ?? [...living, ...silent]),
      problems: problemsOf(cluster, this.#watched(cluster, now), this.#config),
      failures: failuresOf(agents),
      rates: (id, columns) => this.#history.of(id, now, columns),
      ownerOf: (host) => this.#placementOf(agents).order(host, 1)[0],
    };
  }

  #watched({ agents, unreachable, left = [] }: ClusterStatus, now: number): Watched {
    const { dataDir } = this.#config.agent;
    return {
      lagging: this.#lags.stuckAt(now, agents),
      unreadable: unreadableStates(dataDir, [...unreachable, ...left]),
    };
  }

  #placementOf(agents: readonly AgentStatus[]): Placement {
    // An agent tells the capacities of the others.
    const members: readonly ConfiguredMember[] = [
      ...membersOf(this.#config),
      ...agents.flatMap((agent) => agent.members),
    ];
    const capacities = new Map(members.map(({ id, capacity }) => [id, capacity]));
    const running = agents.map(({ id }) => ({ id, capacity: capacities.get(id) ?? 1 }));
    const key = JSON.stringify(running);
    if (this.#placed?.key !== key) {
      this.#placed = { key, placement: placementOf(this.#config.cluster, running) };
    }
    return this.#placed.placement;
  }
}

function failuresOf(agents: readonly AgentStatus[]): (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const { failures = {} } of agents) {
    for (const [failure, n] of Object.entries(failures)) {
      sums.set(failure, (sums.get(failure) ?? 0) + n);
    }
  }
  return [...sums].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}
