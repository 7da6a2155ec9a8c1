// What the routes of the API use: the state of the cluster, the state files of this machine, and the
// commands of `ubiring`.

import path from 'node:path';
import { placementOf } from '../../composition/placement.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { OWNED_HOSTS } from '../../storage/reads/monitor-queries.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { openStateFile } from '../common/query-files.ts';
import { ClusterWatch } from './cluster-watch.ts';
import { runCommand } from './command-run.ts';
import { HttpProblem } from './http-problem.ts';
import {
  type HostsQuery,
  hostsPage,
  type UrlsQuery,
  type UrlView,
  urlsPage,
} from './query-pages.ts';
import { QueryRuns } from './query-runs.ts';

/** Slices of the space of host keys: more could not be told apart on a screen. */
const SLICES = 720;

type Command = Parameters<typeof runCommand>[1];
/** An agent that takes part in a view of the cluster. */
type Part = { readonly id: string; readonly capacity: number };

/** The owners of the slices as one group of agents sees them. */
export interface CircleView {
  /** The agents with this view. */
  readonly seenBy: readonly string[];
  readonly agents: readonly Part[];
  /** For each slice, the index in `agents` of the one that owns most of it. */
  readonly slices: readonly number[];
  /** Fraction of the space, by agent. */
  readonly shares: Readonly<Record<string, number>>;
}

export class Services {
  readonly watch: ClusterWatch;
  readonly queries: QueryRuns;
  readonly #config: ResolvedConfig;

  constructor(config: ResolvedConfig) {
    this.#config = config;
    this.watch = new ClusterWatch(config);
    this.queries = new QueryRuns(this.#source);
  }

  get #source() {
    return { file: this.#config.file, dataDir: this.#config.agent.dataDir };
  }

  readonly run = (command: Command): Promise<unknown> => runCommand(this.#source, command);

  readonly hosts = (query: HostsQuery) => hostsPage(this.#config.agent.dataDir, query);

  readonly urls = (view: UrlView, query: UrlsQuery) => {
    return urlsPage(this.#config.agent.dataDir, view, query);
  };

  /** With the overlay kademlia, agents know only some others, so the views are united. */
  readonly circle = async (): Promise<{
    readonly overlay: string;
    readonly views: CircleView[];
  }> => {
    const { agents } = (await this.watch.now()).view;
    const { overlay } = this.#config.cluster;
    const groups = new Map<string, { seenBy: string[]; parts: readonly Part[] }>();
    const capacities = capacitiesOf(agents);
    const joined = agents.filter((one) => one.joined);
    const views = joined.map((agent) => viewOf(agent, capacities));
    const all = new Map(views.flat().map((part) => [part.id, part]));
    for (const [i, agent] of joined.entries()) {
      const parts = overlay === 'ring' ? views[i]! : [...all.values()];
      const key = JSON.stringify(parts);
      const group = groups.get(key) ?? { seenBy: [], parts };
      group.seenBy.push(agent.id);
      groups.set(key, group);
    }
    const seen = [...groups.values()];
    return { overlay, views: seen.map(({ seenBy, parts }) => this.#circleOf(seenBy, parts)) };
  };

  #circleOf(seenBy: readonly string[], agents: readonly Part[]): CircleView {
    const placement = placementOf(this.#config.cluster, agents);
    const index = new Map(agents.map(({ id }, i) => [id, i]));
    const slices: number[] = [];
    let within = new Map<number, number>();
    let filled = 0;
    const close = () => {
      const most = [...within].reduce((a, b) => (b[1] > a[1] ? b : a));
      slices.push(most[0]);
      within = new Map();
      filled = 0;
    };
    for (const { id, share } of placement.arcs()) {
      const owner = index.get(id)!;
      for (let left = share * SLICES; left > 1e-9; ) {
        const part = Math.min(left, 1 - filled);
        within.set(owner, (within.get(owner) ?? 0) + part);
        filled += part;
        left -= part;
        if (filled >= 1 - 1e-9 && slices.length < SLICES) close();
      }
    }
    if (within.size > 0 && slices.length < SLICES) close();
    return { seenBy, agents, slices, shares: Object.fromEntries(placement.shares()) };
  }

  /** The hosts of an agent on this machine, by the agents that would own them without it. */
  readonly departure = async (id: string) => {
    const { agents } = (await this.watch.now()).view;
    const leaving = agents.find((one) => one.id === id);
    if (!leaving) {
      const detail = `no agent ${JSON.stringify(id)} answers`;
      throw new HttpProblem(404, 'agent-unknown', detail, 'GET /api/v1/agents lists the agents');
    }
    const others = viewOf(leaving, capacitiesOf(agents)).filter((one) => one.id !== id);
    if (others.length === 0) {
      const remedy = 'use stop: the state stays, and a launch continues';
      throw new HttpProblem(409, 'last-agent', `${id} is the only agent`, remedy);
    }
    const file = openStateFile(id, path.join(this.#config.agent.dataDir, id, 'state.sqlite'));
    if (typeof file === 'string') {
      const remedy = 'ask the dashboard of its machine';
      throw new HttpProblem(
        409,
        'state-elsewhere',
        `the hosts of ${id} are not known here`,
        remedy,
      );
    }
    const to: Record<string, number> = {};
    try {
      const placement = placementOf(this.#config.cluster, others);
      for (const [host] of file.rows(OWNED_HOSTS)) {
        const owner = placement.owner(String(host));
        if (owner !== undefined) to[owner] = (to[owner] ?? 0) + 1;
      }
    } finally {
      file.close();
    }
    const hosts = Object.values(to).reduce((sum, n) => sum + n, 0);
    const copies = Math.min(this.#config.cluster.backups, others.length - 1);
    return { agent: id, hosts, to, copiesAfterwards: copies, incompleteNow: leaving.copyLag };
  };
}

/** The agents of the view of `agent`, by identifier. */
function viewOf({ id, members }: AgentStatus, capacities: ReadonlyMap<string, number>): Part[] {
  const others = members.filter(({ joined, leaving }) => joined && !leaving);
  const ids = [id, ...others.map((one) => one.id)].sort();
  return ids.map((one) => ({ id: one, capacity: capacities.get(one) ?? 1 }));
}

/** A status has the capacities of the other agents only. */
function capacitiesOf(agents: readonly AgentStatus[]): ReadonlyMap<string, number> {
  const members = agents.flatMap((agent) => agent.members);
  return new Map(members.map(({ id, capacity }) => [id, capacity]));
}
