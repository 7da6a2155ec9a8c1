// The services behind the routes of the API: the state of the cluster, the state files of this
// machine, and the commands of `ubiring`.

import path from 'node:path';
import { placementOf } from '../../composition/placement.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import { OWNED_HOSTS } from '../../storage/reads/monitor-queries.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { foundAgents, openStateFile } from '../common/query-files.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { RemoteClient } from '../remote/remote-client.ts';
import { type Circle, Circles, capacitiesOf, viewOf } from '../views/circle-view.ts';
import { ClusterWatch } from '../views/cluster-watch.ts';
import { ClusterLists, type Scope } from './cluster-lists.ts';
import { runCommand } from './command-run.ts';
import { ListThread } from './list-thread.ts';
import { QueryRuns } from './query-runs.ts';

type Command = Parameters<typeof runCommand>[1];
/** Later, the agents may have met others. */
const REPORT_MS_MAX = 3000;

export class Services {
  readonly watch: ClusterWatch;
  readonly queries: QueryRuns;
  readonly lists: ClusterLists;
  readonly #config: ResolvedConfig;
  readonly #thread: ListThread;
  readonly #circles: Circles;
  #reported: { readonly statuses: readonly AgentStatus[]; readonly at: number };

  /** @param readToken - for agents on other machines; null: there is none */
  constructor(config: ResolvedConfig, readToken: string | null) {
    this.#config = config;
    this.#circles = new Circles(config.cluster);
    this.#reported = { statuses: [], at: -Infinity };
    this.watch = new ClusterWatch(config);
    this.queries = new QueryRuns(this.#source, readToken);
    this.#thread = new ListThread(config);
    this.lists = new ClusterLists(config, this.#thread, this.watch, new RemoteClient(readToken));
  }

  get #source() {
    return { file: this.#config.file, dataDir: this.#config.agent.dataDir };
  }

  readonly run = (command: Command): Promise<unknown> => runCommand(this.#source, command);

  /** @throws HttpProblem if the state of the agent is not on this machine */
  readonly stateOf = (id: string): string => {
    const { dataDir } = this.#config.agent;
    if (foundAgents(dataDir).includes(id)) return path.join(dataDir, id, 'state.sqlite');
    const detail = `the state of ${JSON.stringify(id)} is not on this machine`;
    throw new HttpProblem(404, 'state-elsewhere', detail, 'ask the API of that agent');
  };

  readonly events = (id: string, after: number | null) => {
    this.stateOf(id);
    return this.lists.events(id, after);
  };

  /** @param at - Unix milliseconds; absent: now */
  readonly circle = async (at?: number): Promise<Circle> => {
    if (at !== undefined) return this.#thread.call('circleAt', at);
    const agents = this.#whole() ?? (await this.watch.now()).view.agents;
    return this.#circles.of(agents);
  };

  /** The agents of the process that serves, which report every second. */
  noteStatuses(statuses: readonly AgentStatus[]): void {
    this.#reported = { statuses, at: monotonicMs() };
  }

  /** What was reported, if it has the whole cluster: then no agent need be asked. */
  #whole(): readonly AgentStatus[] | null {
    const { statuses, at } = this.#reported;
    const ids = new Set(statuses.map(({ id }) => id));
    const isWhole = statuses.every(({ members }) => members.every(({ id }) => ids.has(id)));
    return statuses.length > 0 && isWhole && monotonicMs() - at < REPORT_MS_MAX ? statuses : null;
  }

  /** The hosts of an agent, by the agents that would own them without it. */
  readonly departure = async (id: string, scope: Scope) => {
    const isElsewhere = !foundAgents(this.#config.agent.dataDir).includes(id);
    const path = `/agents/${encodeURIComponent(id)}/departure`;
    const answer = isElsewhere && scope === 'cluster' ? await this.lists.forwarded(id, path) : null;
    return answer ?? this.#departure(id);
  };

  async #departure(id: string) {
    const { agents } = (await this.watch.now()).view;
    const leaving = agents.find((one) => one.id === id);
    if (!leaving) {
      const detail = `no agent ${JSON.stringify(id)} answers`;
      throw new HttpProblem(404, 'agent-unknown', detail, 'GET /api/v1/agents lists the agents');
    }
    const others = viewOf(leaving, capacitiesOf(agents)).filter((one) => one.id !== id);
    if (others.every(({ capacity }) => capacity === 0)) {
      const remedy = 'use stop: the state stays, and a launch continues';
      throw new HttpProblem(409, 'last-agent', `${id} is the only agent that takes hosts`, remedy);
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
  }
}
