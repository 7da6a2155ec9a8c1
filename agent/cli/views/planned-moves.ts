// Which hosts would move, and which copies would have to be made, if an agent left or had another
// capacity. Each machine counts the hosts in its state files, and the counts are added.

import { z } from 'zod';
import { placementOf } from '../../composition/placement.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { ownedHosts } from '../../storage/reads/monitor-queries.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { isDamage, openStateFile, stateFileOf } from '../common/query-files.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { capacitiesOf, type Part, viewOf } from './circle-view.ts';
import type { OpenState } from './kept-copies.ts';

/** Of more hosts only some are placed, and the result is an estimate: this takes about a second. */
const HOSTS_MAX = 100_000;

const counts = z.record(z.string(), z.number());

export const plannedMovesSchema = z.object({
  agent: z.string(),
  capacity: z.number().nullable().meta({ description: 'Null: it leaves.' }),
  capacityNow: z.number(),
  hosts: z.number().meta({ description: 'Hosts that move.' }),
  from: counts.meta({ description: 'The same by the agent that gives them.' }),
  to: counts.meta({ description: 'The same by the agent that gets them.' }),
  copiesAfterwards: z.number().meta({
    description: 'Copies of each host at other agents, once they are made.',
  }),
  incompleteMeanwhile: z.number().meta({
    description: 'Hosts that lack a copy until it is made.',
  }),
  copiesTo: counts.meta({ description: 'The copies to be made, by the agent that gets them.' }),
  incompleteNow: z.number().meta({
    description: 'Hosts of the agent whose copies are incomplete now.',
  }),
  uncounted: z.array(z.string()).meta({
    description: 'Agents whose hosts are not counted, because their state cannot be read here.',
  }),
  isEstimate: z.boolean(),
});
export type PlannedMoves = Readonly<z.output<typeof plannedMovesSchema>>;

export interface MovesQuery {
  readonly id: string;
  /** Null: the agent leaves; `default`: that of the config. */
  readonly capacity: number | 'default' | null;
  /** Counts only the hosts of this agent. */
  readonly of?: string | undefined;
}

/** Counts the hosts in the state files of this machine. */
export function plannedMoves(
  config: ResolvedConfig,
  agents: readonly AgentStatus[],
  { id, capacity, of }: MovesQuery,
  open: OpenState = openStateFile,
): PlannedMoves {
  const moving = agents.find((one) => one.id === id);
  if (!moving) {
    const detail = `no agent ${JSON.stringify(id)} answers`;
    throw new HttpProblem(404, 'agent-unknown', detail, 'GET /api/v1/agents lists the agents');
  }
  const before = viewOf(moving, capacitiesOf(agents));
  const wanted = capacity === 'default' ? capacityInConfig(config, id) : capacity;
  const others = before.filter((one) => one.id !== id);
  if (!wanted) demandTaker(agents, id);
  const after = wanted === null ? others : [...others, { id, capacity: wanted }];
  const moves = new MoveCounts(config, before, after);
  const total = agents.reduce((sum, { hosts }) => sum + hosts, 0);
  const step = Math.max(1, Math.ceil(total / HOSTS_MAX));
  const asked = before.filter((one) => of === undefined || one.id === of);
  const uncounted = asked.flatMap((one) => (moves.count(one.id, step, open) ? [] : [one.id]));
  return {
    ...{ agent: id, capacity: wanted, capacityNow: moving.capacity, ...moves.times(step) },
    ...{ incompleteNow: moving.copyLag, uncounted, isEstimate: step > 1 },
  };
}

/**
 * Adds what other machines have counted.
 *
 * @param theirs - by the agent whose hosts were counted
 * @throws HttpProblem if the agent loses hosts that are not known
 */
export function mergedMoves(
  here: PlannedMoves,
  theirs: ReadonlyMap<string, PlannedMoves>,
): PlannedMoves {
  const all = [here, ...theirs.values()];
  const sum = (name: 'hosts' | 'incompleteMeanwhile') => all.reduce((n, one) => n + one[name], 0);
  const united = (name: 'from' | 'to' | 'copiesTo') => {
    const sums = new Map<string, number>();
    for (const one of all) {
      for (const [id, n] of Object.entries(one[name])) sums.set(id, (sums.get(id) ?? 0) + n);
    }
    return Object.fromEntries([...sums].sort());
  };
  const uncounted = here.uncounted.filter((id) => theirs.get(id)?.uncounted.length !== 0);
  if (uncounted.includes(here.agent) && (here.capacity ?? 0) <= here.capacityNow) {
    const detail = `the hosts of ${here.agent} are not known here`;
    throw new HttpProblem(409, 'state-elsewhere', detail, 'ask the dashboard of its machine');
  }
  return {
    ...here,
    ...{ hosts: sum('hosts'), from: united('from'), to: united('to'), uncounted },
    ...{ incompleteMeanwhile: sum('incompleteMeanwhile'), copiesTo: united('copiesTo') },
    isEstimate: all.some(({ isEstimate }) => isEstimate),
  };
}

/** @throws HttpProblem if no other agent takes the hosts of this one */
export function demandTaker(agents: readonly AgentStatus[], id: string): void {
  const moving = agents.find((one) => one.id === id);
  if (!moving) return;
  const others = viewOf(moving, capacitiesOf(agents)).filter((one) => one.id !== id);
  if (others.some(({ capacity }) => capacity > 0)) return;
  const remedy = 'use stop: the state stays, and a launch continues';
  throw new HttpProblem(409, 'last-agent', `${id} is the only agent that takes hosts`, remedy);
}

function capacityInConfig({ cluster }: ResolvedConfig, id: string): number {
  const entry = cluster.agents.find((agent) => agent.id === id);
  if (entry) return entry.capacity;
  const detail = `the config here does not have the capacity of ${id}`;
  throw new HttpProblem(409, 'capacity-unknown', detail, 'ask the dashboard of its machine');
}

class MoveCounts {
  readonly #config: ResolvedConfig;
  readonly #before;
  readonly #after;
  readonly #copies: number;
  readonly #from = new Map<string, number>();
  readonly #to = new Map<string, number>();
  readonly #copiesTo = new Map<string, number>();
  #incomplete = 0;

  constructor(config: ResolvedConfig, before: readonly Part[], after: readonly Part[]) {
    const { cluster } = config;
    this.#config = config;
    this.#before = placementOf(cluster, before);
    this.#after = placementOf(cluster, after);
    this.#copies = Math.min(cluster.backups, after.length - 1);
  }

  /** @returns false: its state file is not here, or is damaged */
  count(agent: string, step: number, open: OpenState): boolean {
    const file = open(agent, stateFileOf(this.#config.agent.dataDir, agent));
    if (file === null || typeof file === 'string') return false;
    try {
      for (const [host] of file.rows(ownedHosts(step))) this.#add(agent, String(host));
    } catch (error) {
      if (isDamage(error)) return false;
      throw error;
    } finally {
      file.close();
    }
    return true;
  }

  /** A host's owner has its rows, and its backups have them if their copies are complete. */
  #add(owner: string, host: string): void {
    const [next, ...backups] = this.#after.order(host, this.#copies + 1);
    if (next === undefined) return;
    if (next !== owner) {
      increment(this.#from, owner);
      increment(this.#to, next);
    }
    const having = [owner, ...this.#before.order(host, this.#config.cluster.backups + 1)];
    const lacking = backups.filter((one) => !having.includes(one));
    for (const one of lacking) increment(this.#copiesTo, one);
    if (lacking.length > 0) this.#incomplete++;
  }

  /** What was counted of each `step`th host. */
  times(step: number) {
    const all = (counts: ReadonlyMap<string, number>) =>
      Object.fromEntries([...counts].sort().map(([id, hosts]) => [id, hosts * step]));
    const hosts = step * [...this.#to.values()].reduce((sum, n) => sum + n, 0);
    return {
      ...{ hosts, from: all(this.#from), to: all(this.#to), copiesAfterwards: this.#copies },
      ...{ incompleteMeanwhile: step * this.#incomplete, copiesTo: all(this.#copiesTo) },
    };
  }
}

function increment(counts: Map<string, number>, id: string): void {
  counts.set(id, (counts.get(id) ?? 0) + 1);
}
