// The services behind the routes of the API: the state of the cluster, the state files of this
// machine, and the commands of `ubiring`.

import type { ResolvedConfig } from '../common/load-config.ts';
import { foundAgents, stateFileOf } from '../common/query-files.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { RemoteClient } from '../remote/remote-client.ts';
import { staleTexts } from '../remote/stale-states.ts';
import { type Circle, Circles } from '../views/circle-view.ts';
import { ClusterWatch, STREAM_FRESH_MS } from '../views/cluster-watch.ts';
import { ReportedStatuses } from '../views/reported-statuses.ts';
import type { StateSource } from '../views/state-stream.ts';
import { ClusterLists } from './cluster-lists.ts';
import { type CommandLine, CommandRuns, type CommandSource } from './command-run.ts';
import { type Client, ListProcess } from './list-process.ts';
import { QueryRuns } from './query-runs.ts';

export class Services {
  /** Of the agents of the process group that serves. */
  readonly reported = new ReportedStatuses();
  readonly watch: ClusterWatch;
  readonly queries: QueryRuns;
  readonly lists: ClusterLists;
  readonly #config: ResolvedConfig;
  readonly #process: ListProcess;
  readonly #circles: Circles;
  readonly #commands: CommandRuns;

  /** @param keys - for requests to agents on other machines */
  constructor(config: ResolvedConfig, keys: readonly Buffer[]) {
    this.#config = config;
    this.#circles = new Circles(config.cluster);
    this.watch = new ClusterWatch(config, this.reported);
    const notes = async () => staleTexts(await this.watch.stale(), config.agent.dataDir);
    this.queries = new QueryRuns(this.#source, keys, notes);
    this.#commands = new CommandRuns(this.#source);
    this.#process = new ListProcess(config);
    this.lists = new ClusterLists(config, this.#process, this.watch, new RemoteClient(keys));
  }

  close(): void {
    this.queries.close();
    this.#process.close();
  }

  get #source(): CommandSource {
    const { file, agent, isDataGiven = false } = this.#config;
    return { file, dataDir: agent.dataDir, isDataGiven };
  }

  readonly run = (command: CommandLine): Promise<unknown> =>
    this.#commands.run(command).finally(() => {
      if (command.name !== 'explain') this.watch.outdated();
    });

  /**
   * Runs a command about an agent.
   *
   * @param unknown - the status of the answer if it fails and no such agent is known
   */
  readonly runFor = async (
    agent: string,
    unknown: 400 | 404,
    command: CommandLine,
  ): Promise<unknown> => {
    try {
      return await this.run(command);
    } catch (error) {
      if (error instanceof HttpProblem) await this.lists.demandAgent(agent, unknown);
      throw error;
    }
  };

  /** @throws HttpProblem if there is no such agent, or its state is not on this machine */
  readonly stateOf = async (id: string): Promise<string> => {
    const { dataDir } = this.#config.agent;
    const isHere = foundAgents(dataDir).includes(id);
    if (isHere && !(await this.watch.stale([id])).includes(id)) return stateFileOf(dataDir, id);
    await this.lists.demandAgent(id, 404);
    const detail = `the state of ${JSON.stringify(id)} is not on this machine`;
    throw new HttpProblem(404, 'state-elsewhere', detail, 'ask the API of that agent');
  };

  readonly events = async (id: string, after: number | null, client: Client) => {
    await this.stateOf(id);
    return this.lists.events(id, after, client);
  };

  /** @param at - Unix milliseconds; absent: now */
  readonly circle = async (at: number | undefined, client: Client): Promise<Circle> => {
    return at === undefined ? this.#circleNow() : this.lists.circleAt(at, client);
  };

  async #circleNow(): Promise<Circle> {
    const agents = this.reported.whole() ?? (await this.watch.now()).view.agents;
    return this.#circles.of(agents);
  }

  /** What every dashboard shows, for the event stream. */
  readonly states: readonly StateSource[] = [
    {
      event: 'cluster',
      ask: async () => {
        const text = await this.watch.now(STREAM_FRESH_MS);
        return { key: text, json: () => text.body };
      },
    },
    {
      event: 'circle',
      ask: async () => {
        const circle = await this.#circleNow();
        return { key: circle, json: () => Buffer.from(JSON.stringify(circle)) };
      },
    },
    {
      event: 'unread',
      ask: async () => {
        const problems = this.lists.unreadEvents();
        return { key: problems, json: () => Buffer.from(JSON.stringify(problems)) };
      },
    },
  ];
}
