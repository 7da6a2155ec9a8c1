// The lists of the API over all machines: rows from the state files of this one, and from the APIs of
// agents on others. An agent that does not answer is named, and the rows of the others are returned.

import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { UrlView } from '../../storage/reads/url-lists.ts';
import { launchCommand, type ResolvedConfig, startCommand } from '../common/load-config.ts';
import { foundAgents } from '../common/query-files.ts';
import { API } from '../http/api-prefix.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { agentsElsewhere, type Elsewhere, type RemoteAgent } from '../remote/remote-agents.ts';
import { type RemoteClient, RemoteError } from '../remote/remote-client.ts';
import { staleTexts } from '../remote/stale-states.ts';
import { agentProblem, type Problem } from '../top/problems.ts';
import type { AgentEvents } from '../views/agent-events.ts';
import { type ClusterWatch, STREAM_FRESH_MS } from '../views/cluster-watch.ts';
import type { EventSource } from '../views/event-stream.ts';
import {
  type MovesQuery,
  mergedMoves,
  type PlannedMoves,
  plannedMovesSchema,
} from '../views/planned-moves.ts';
import { type HostsQuery, mergedHosts, type RowsPage, rowsPage } from '../views/query-pages.ts';
import type { UrlsQuery } from '../views/url-pages.ts';
import type { Client, ListProcess } from './list-process.ts';
import type { ListCalls } from './list-worker.ts';

/** `machine`: only rows of this machine, so that a forwarded request is not forwarded again. */
export type Scope = 'cluster' | 'machine';

interface Others extends Elsewhere {
  /** A sentence for each state of this machine that is not read; no rows are missing for that. */
  readonly notes: readonly string[];
}

/** Agents that a message names. */
const NAMED_MAX = 20;
/** Events wait so long for the state of the cluster. */
const STATE_MS_MAX = 300;
const MACHINE = { scope: 'machine' } as const;
/** The client under which this process reads the events of an agent, once for all clients. */
const ownOf = (agent: string): Client => ({ address: `own ${agent}`, signal: NEVER_GONE });
const NEVER_GONE = new AbortController().signal;

const historySchema = z.object({
  span: z.object({ from: z.number(), to: z.number() }).nullable(),
  agents: z.array(z.object({ id: z.string(), samples: z.array(z.array(z.number())) })),
  changes: z.array(
    z.object({
      ...{ at: z.number(), by: z.string(), id: z.string(), kind: z.string() },
      ...{ capacity: z.number().optional(), incarnation: z.number().optional() },
    }),
  ),
  problems: z
    .array(
      z.object({
        ...{ text: z.string(), remedy: z.string(), place: z.string() },
        isGrave: z.literal(true).optional(),
      }),
    )
    .default([]),
});

const eventsSchema = z.object({
  last: z.number(),
  mark: z
    .string()
    .regex(/^\w{0,4}$/)
    .default(''),
  events: z.array(
    z.object({ number: z.number(), at: z.number(), kind: z.string(), detail: z.string() }),
  ),
});

export class ClusterLists {
  readonly #process: ListProcess;
  readonly #config: ResolvedConfig;
  readonly #watch: ClusterWatch;
  readonly #client: RemoteClient;
  /** Why agents elsewhere cannot be asked. */
  #silent: readonly string[] = [];
  /** By agent, why its last answer had no events. */
  readonly #unread = new Map<string, string>();
  #problems: readonly Problem[] = [];

  constructor(
    config: ResolvedConfig,
    process: ListProcess,
    watch: ClusterWatch,
    client: RemoteClient,
  ) {
    this.#process = process;
    this.#config = config;
    this.#watch = watch;
    this.#client = client;
  }

  readonly hosts = async (query: HostsQuery, scope: Scope, client: Client): Promise<RowsPage> => {
    const living = await this.#living();
    if (query.agent !== undefined) await this.demandAgent(query.agent, 400);
    const here = await this.#read(client, 'hosts', query, living);
    const { agents, problems, notes } = await this.#elsewhere(scope);
    const asked = agents.filter(({ id }) => query.agent === undefined || query.agent === id);
    const { answers, problems: more } = await this.#each(
      client,
      asked,
      rowsPage,
      '/hosts',
      (agent) => ({
        ...query,
        agent,
      }),
    );
    const pages = answers.map(([, page]) => page);
    return mergedHosts([here, ...pages, none([...notes, ...problems, ...more])], query, living);
  };

  readonly urls = async (
    view: UrlView,
    query: UrlsQuery,
    scope: Scope,
    client: Client,
  ): Promise<RowsPage> => {
    const living = await this.#living();
    const here = await this.#read(client, 'urls', view, query, living);
    const isLiving = (page: RowsPage) => living.includes(holderOf(page) ?? '');
    if (isLiving(here)) return here;
    const { agents, problems, notes } = await this.#elsewhere(scope);
    const { answers, problems: more } = await this.#each(
      client,
      agents,
      rowsPage,
      `/${view}`,
      () => query,
    );
    const theirs = answers.map(([, page]) => page);
    const owned = theirs.find(isLiving);
    if (owned) return owned;
    // The host of an agent that no longer answers, and that nobody has taken over.
    const left = [here, ...theirs].find((page) => holderOf(page) !== null) ?? here;
    const said = [...new Set([...here.problems, ...left.problems, ...problems, ...more])];
    if (scope === 'cluster' && holderOf(left) === null && said.length === 0) {
      const detail = `no agent has the host ${JSON.stringify(query.host)}`;
      const remedy = `GET ${API}/hosts lists the hosts; if it moves, try again in some seconds`;
      throw new HttpProblem(404, 'host-unknown', detail, remedy);
    }
    return { ...left, problems: [...notes, ...said] };
  };

  readonly history = async (scope: Scope, client: Client) => {
    const here = await this.#read(client, 'history');
    const { agents, problems, notes } = await this.#elsewhere(scope);
    const asked = await this.#each(client, agents, historySchema, '/history', () => ({}));
    const { answers } = asked;
    const silent = [...notes, ...problems, ...asked.problems].map(agentProblem);
    // Agents of one machine report each other, too.
    const theirs = answers.map(([id, one]): typeof one => {
      return {
        ...one,
        agents: one.agents.filter((agent) => agent.id === id),
        changes: one.changes.filter(({ by }) => by === id),
      };
    });
    const all = [here, ...theirs];
    const spans = all.flatMap(({ span }) => span ?? []);
    return {
      span: spans.length > 0 ? spanOf(spans) : null,
      agents: all.flatMap((one) => one.agents),
      changes: all.flatMap((one) => one.changes).sort((a, b) => a.at - b.at),
      // Each agent of a machine names all state files there.
      problems: unique([...silent, ...all.flatMap((one): readonly Problem[] => one.problems)]),
    };
  };

  readonly eventSources = async (): Promise<readonly EventSource[]> => {
    // Agents that do not answer delay the state of the cluster, and not the events.
    const asked = this.#watch.now(STREAM_FRESH_MS).catch(() => null);
    const now = await Promise.race([asked, pause(STATE_MS_MAX, null)]);
    const places = new Map(
      now?.view.agents.flatMap(({ id, incarnation, lastEvent }) => {
        return lastEvent === undefined ? [] : [[id, { last: lastEvent, incarnation }]];
      }),
    );
    const last = now ?? this.#watch.last;
    const stale = last?.stale ?? [];
    const found = foundAgents(this.#config.agent.dataDir).filter((id) => !stale.includes(id));
    const here = found.map((agent): EventSource => {
      const read = (after: number | null) => this.events(agent, after, ownOf(agent));
      return { agent, now: places.get(agent), read };
    });
    if (last === null) return here;
    const { agents: living, unreachable: silent } = last.view;
    const { agents, problems } = agentsElsewhere({ agents: living, silent, stale }, this.#config);
    this.#silent = problems;
    const ids = new Set(agents.map(({ id }) => id));
    for (const id of this.#unread.keys()) if (!ids.has(id)) this.#unread.delete(id);
    const elsewhere = agents.map((agent): EventSource => {
      const read = (after: number | null) => this.#remoteEvents(agent, after);
      return { agent: agent.id, now: places.get(agent.id), read };
    });
    return [...here, ...elsewhere];
  };

  readonly events = async (agent: string, after: number | null, client: Client) => {
    // Only the directory of this agent is looked at, because this happens every second for each agent.
    const stale = await this.#watch.stale([agent]);
    return this.#process.call({ ...client, stale }, 'events', agent, after);
  };

  /** @param at - Unix milliseconds */
  readonly circleAt = (at: number, client: Client) => this.#read(client, 'circleAt', at);

  async #remoteEvents(agent: RemoteAgent, after: number | null): Promise<AgentEvents | null> {
    const path = `/agents/${encodeURIComponent(agent.id)}/events`;
    const query = after === null ? {} : { after };
    try {
      const answer = eventsSchema.parse(await this.#client.json(agent, { path, query }));
      this.#unread.delete(agent.id);
      return answer;
    } catch (error) {
      const wrong = `${agent.id}: its API has sent no valid events`;
      this.#unread.set(agent.id, error instanceof RemoteError ? error.message : wrong);
      return null;
    }
  }

  /** Why events of agents elsewhere are missing in the stream; the same list until it changes. */
  unreadEvents(): readonly Problem[] {
    const problems = [...this.#silent, ...this.#unread.values()].map(agentProblem);
    if (JSON.stringify(problems) !== JSON.stringify(this.#problems)) this.#problems = problems;
    return this.#problems;
  }

  /** @throws HttpProblem if the agent does not run, or the hosts that matter are not known */
  readonly moves = async (
    query: MovesQuery,
    scope: Scope,
    client: Client,
  ): Promise<PlannedMoves> => {
    const { agents: all, complete, left = [] } = (await this.#watch.now()).view;
    if (query.of !== undefined) await this.demandAgent(query.of, 400);
    const { id: moving } = query;
    if (!all.some(({ id }) => id === moving)) {
      await this.demandAgent(moving, 404);
      if (complete) {
        const again = `to request its pages again: ${launchCommand(this.#config, ' --refresh')}`;
        const detail = 'no agent runs: the crawl is complete';
        throw new HttpProblem(409, 'crawl-complete', detail, again);
      }
      const start = startCommand(moving, this.#config);
      if (left.includes(moving)) {
        throw new HttpProblem(409, 'agent-left', `${moving} has left`, `start it again: ${start}`);
      }
      const remedy = `if it does not run, start it on its machine: ${start}`;
      throw new HttpProblem(409, 'agent-silent', `${moving} does not answer`, remedy);
    }
    const here = await this.#read(client, 'moves', all, query);
    if (scope === 'machine') return here;
    const { agents } = await this.#elsewhere(scope);
    const path = `/agents/${encodeURIComponent(query.id)}/moves`;
    const capacity = here.capacity ?? undefined;
    const { answers } = await this.#each(client, agents, plannedMovesSchema, path, (of) => ({
      capacity,
      of,
    }));
    return mergedMoves(here, new Map(answers));
  };

  /**
   * @param status - of the answer if no such agent is known: 404 if the path names it, otherwise 400
   * @throws HttpProblem with this status
   */
  async demandAgent(id: string, status: 400 | 404): Promise<void> {
    const { agents, unreachable, left = [] } = (await this.#watch.now()).view;
    const members = agents.flatMap((one) => [one, ...one.members]).map((one) => one.id);
    const here = foundAgents(this.#config.agent.dataDir);
    const known = new Set([...members, ...unreachable, ...left, ...here]);
    if (known.has(id)) return;
    const some = [...known].sort().slice(0, NAMED_MAX).join(', ') || 'none';
    const detail = `no agent is called ${JSON.stringify(id)}; known: ${some}`;
    throw new HttpProblem(status, 'agent-unknown', detail, `GET ${API}/agents lists the agents`);
  }

  async #living(): Promise<readonly string[]> {
    return (await this.#watch.now()).view.agents.map(({ id }) => id);
  }

  /** Reads the states of this machine, without the stale ones. */
  async #read<N extends keyof ListCalls>(
    client: Client,
    name: N,
    ...args: Parameters<ListCalls[N]>
  ): Promise<ReturnType<ListCalls[N]>> {
    const stale = await this.#watch.stale();
    return this.#process.call({ ...client, stale }, name, ...args);
  }

  async #elsewhere(scope: Scope): Promise<Others> {
    if (scope === 'machine') return { agents: [], running: [], problems: [], notes: [] };
    const { view, stale } = await this.#watch.now();
    const { agents, unreachable: silent } = view;
    const notes = staleTexts(stale, this.#config.agent.dataDir);
    return { ...agentsElsewhere({ agents, silent, stale }, this.#config), notes };
  }

  /** The answers of those that have sent a valid one, each with its agent. */
  async #each<T>(
    { signal }: Client,
    agents: readonly RemoteAgent[],
    schema: z.ZodType<T>,
    path: string,
    queryOf: (agent: string) => object,
  ): Promise<{
    readonly answers: readonly (readonly [id: string, answer: T])[];
    readonly problems: readonly string[];
  }> {
    const answers: [string, T][] = [];
    const problems: string[] = [];
    const asked = agents.map(async (agent): Promise<[string, T]> => {
      const query = { ...queryOf(agent.id), ...MACHINE };
      const answer = await this.#client.json(agent, { path, query }, undefined, signal);
      const parsed = schema.safeParse(answer);
      if (parsed.success) return [agent.id, parsed.data];
      throw new RemoteError(`${agent.id}: its API has sent no valid answer to ${path}`);
    });
    for (const one of await Promise.allSettled(asked)) {
      if (one.status === 'fulfilled') answers.push(one.value);
      else if (one.reason instanceof RemoteError) problems.push(one.reason.message);
      else throw one.reason;
    }
    return { answers, problems };
  }
}

function unique(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((one) => [one.text, one])).values()];
}

/** The agent whose rows these are, also if the version there does not name it. */
function holderOf({ holder, rows: [row] }: RowsPage): string | null {
  return holder ?? (row ? String(row.agent) : null);
}

function none(problems: string[]): RowsPage {
  return { rows: [], next: null, problems };
}

function spanOf(spans: readonly { readonly from: number; readonly to: number }[]) {
  const [from, to] = [spans.map((one) => one.from), spans.map((one) => one.to)];
  return { from: Math.min(...from), to: Math.max(...to) };
}
