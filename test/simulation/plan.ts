// What one run of the swarm is made of, drawn from its seed: the cluster with its web, how bad the
// network is, how many copies there are. And what has befallen it so far, as far as the checkers
// must know: under which circumstances which promise is not made (docs/RELIABILITY.md).

import { BOUNDS, type Bounds } from '../../agent/core/protocol/bounds.ts';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { Cluster, EPOCH, SUSPECT_MS } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { drawOddPages } from './odd-pages.ts';
import { Random } from './random.ts';
import { drawLeads } from './robots-web.ts';
import type { Running } from './running.ts';
import { addCrossLinks, addManyLinks, drawWeb, type Web } from './webs.ts';
import { SLICE_UNITS } from './work.ts';

/**
 * `calm`: nothing but a bad network. `moves`: late joins, leaves, other capacities, clocks set.
 * `faults`: those and crashes, stalls, cuts and partitions. `disks`: crashes with losses of power,
 * disks set back and slow ones, rows that hardly get through. `cuts`: a link that is dead one way
 * for the whole of the crawl. `storms`: up to thirty agents, and a crash every now and then.
 * `budgets`: as `faults`, on hosts that share addresses, in some with a limit of pages. `waits`:
 * delays so long that hosts change hands and come back within one, and servers that have trouble
 * with their robots.txt at first; in some there are no copies.
 */
export const KINDS = [
  'calm',
  'moves',
  'faults',
  'disks',
  'cuts',
  'storms',
  'budgets',
  'waits',
] as const;
export type Kind = (typeof KINDS)[number];

/** Faults come within this; then the cluster heals. */
export const SPAN_MS = 6000;
export const DELAY_MS = 60;

export interface Plan {
  readonly kind: Kind;
  readonly quorum: 'none' | 'majority';
  readonly backups: number;
  readonly ids: readonly AgentId[];
  readonly random: Random;
  readonly cluster: Cluster;
  /** Pages of the crawl; null: all of the web. */
  readonly pagesMax: number | null;
  readonly capacities: Map<AgentId, number>;
  /** What they start with next: who does not come back before the end never had it. */
  readonly reweighed: Map<AgentId, number>;
  /** Agents that are down and will come back. */
  readonly down: Set<AgentId>;
  /** Agents that never come back, or left. */
  readonly away: Set<AgentId>;
  /** Comes back at another address after some of its crashes; drawn apart from all other chance. */
  readonly mover: AgentId;
  readonly moving: Random;
  /** Links that are cut for the whole of the crawl. */
  readonly deadLinks: (readonly [AgentId, AgentId])[];
  /** Agents whose disks were set back. */
  readonly setBack: Set<AgentId>;
  /** A disk is gone for good, or was set back: what had that one copy less has one less to lose. */
  spent: boolean;
  /** It was a whole disk, and not only what was not synced. */
  diskLost: boolean;
  /** Those that crawled with fewer members than copies are asked for. */
  readonly loners: Set<AgentId>;
  /** No third agent could pass news on: under `none` each side crawls on. */
  split: boolean;
  cutUntil: number;
  healed: boolean;
  /** When the last new round was ordered; null: none was. */
  refreshedAt: number | null;
  /** When an agent first said that the crawl is complete; Infinity: none has. */
  completeAt: number;
  /** Who that agent saw then, itself included; who comes back later had no say. */
  completeBy: readonly AgentId[];
}

export function drawPlan(seed: number, kind: Kind): Plan {
  const random = new Random(seed * 7919 + 13);
  const ids = Array.from({ length: agentsOf(kind, random) }, (_, i) => `a${i + 1}`);
  const quorum = random.chance(kind === 'cuts' ? 1 : 0.5) ? 'none' : 'majority';
  const backups = drawBackups(kind, ids.length, random);
  const storm = kind === 'storms';
  const waits = kind === 'waits' ? drawWaits(random) : { delayMs: DELAY_MS };
  const web = drawWeb(
    random,
    random.whole(3, storm ? 20 : 8),
    kind === 'waits' ? random.whole(3, 6) : random.whole(storm ? 4 : 12, storm ? 30 : 50),
  );
  // A lost link shows best where it was the only way in, a link wrongly thought safe where it is not.
  const crossing = new Random(seed * 611_953 + 29);
  if (crossing.chance(0.5)) addCrossLinks(web, crossing);
  const rates = new Map(ids.map((id) => [id, random.between(0.98, 1.02)]));
  const patience = new Map(ids.map((id) => [id, random.chance(0.5) ? 1 : random.between(1, 1.6)]));
  const capacities = new Map(ids.map((id) => [id, random.pick([1, 1, 2, 3])]));
  const loss = random.pick([0, 0.02, 0.1]);
  // Large inputs are done in pieces: of one URL, and one a turn, there is a moment after each.
  const slicing = new Random(seed * 433_494_437 + 7);
  const sliceUnits = slicing.pick([1, 30, SLICE_UNITS]);
  const bounds = {
    ...drawBounds(random),
    pieceUrls: slicing.pick([1, 3, BOUNDS.pieceUrls]),
    streamHosts: slicing.pick([1, 3, BOUNDS.streamHosts]),
    triedPages: slicing.pick([1, 3, BOUNDS.triedPages]),
  };
  for (const links of drawExpense(slicing, bounds)) addManyLinks(web, slicing, links);
  const shared = kind === 'budgets' ? drawBudgets(random, web.size) : NO_BUDGETS;
  const cluster = new Cluster({
    ids,
    web,
    seeds: [...web.keys()].slice(0, random.whole(1, 2)),
    quorum,
    backups,
    settings: (id) => ({
      capacity: capacities.get(id)!,
      bounds,
      suspectAfterMs: SUSPECT_MS * patience.get(id)!,
    }),
    seed: random.whole(1, 1e9),
    weather: { loss, duplicate: 0.03, slow: 0.04, slowMs: 250 },
    rate: (id) => rates.get(id) ?? 1,
    requestMs: (r) => (r.chance(0.1) ? r.between(150, 900) : r.between(5, 40)),
    keepSent: false,
    sliceUnits,
    leads: shared.pagesMax === undefined ? drawLeads(seed, hostsOf(web)) : new Map(),
    oddPages: drawOddPages(seed, [...web.keys()], kind === 'waits'),
    ...waits,
    ...shared,
  });
  const pagesMax = shared.pagesMax ?? null;
  const none = { down: new Set<AgentId>(), away: new Set<AgentId>(), deadLinks: [] };
  const nothing = {
    reweighed: new Map<AgentId, number>(),
    setBack: new Set<AgentId>(),
    loners: new Set<AgentId>(),
    spent: false,
    diskLost: false,
    split: false,
  };
  const when = { healed: false, cutUntil: 0, refreshedAt: null };
  const moving = new Random(seed * 99_991 + 17);
  const completion = { completeAt: Infinity, completeBy: ids };
  const drawn = { kind, quorum, backups, ids, random, cluster, pagesMax, capacities } as const;
  return { ...drawn, ...none, ...nothing, ...when, ...completion, moving, mover: moving.pick(ids) };
}

/**
 * Links of expensive pages: in a third of the crawls. More than some thousand would be more than 100
 * milliseconds of work in one turn; where messages are small the copies would take too long.
 */
function drawExpense(random: Random, { rowEvents, batchUrls }: Bounds): number[] {
  if (random.chance(0.67)) return [];
  const isQuick = Math.min(rowEvents, batchUrls) >= 100;
  return Array.from({ length: random.whole(1, 2) }, () =>
    isQuick ? random.pick([500, 500, 8000]) : 60,
  );
}

function hostsOf(web: Web): string[] {
  return [...new Set([...web.keys()].map((url) => new URL(url).host))];
}

/** Between two requests to one address. */
export const IP_DELAY_MS = 45;
const NO_BUDGETS: Partial<ClusterOptions> = {};

/** All hosts on one to three addresses; each other crawl has a limit, most within its web. */
function drawBudgets(random: Random, pages: number): Partial<ClusterOptions> {
  const addresses = random.whole(1, 3);
  const numberOf = (host: string) => Number(/\d+/.exec(host)?.[0] ?? 0);
  const addressOf = (host: string) => `192.0.2.${numberOf(host) % addresses}`;
  const slots = { ipDelayMs: IP_DELAY_MS, addressOf };
  if (random.chance(0.5)) return slots;
  const pagesMax = random.whole(1, Math.ceil(pages * 1.2));
  return random.chance(0.3) ? { pagesMax } : { ...slots, pagesMax };
}

function drawBackups(kind: Kind, agents: number, random: Random): number {
  if (kind === 'waits' && random.chance(0.4)) return 0;
  return agents > 3 && random.chance(0.2) ? 2 : 1;
}

/** A third of the servers answer the first request for robots.txt with an error. */
function drawWaits(random: Random): Partial<ClusterOptions> & { delayMs: number } {
  const first = random.whole(0, 2);
  const isTroubled = (host: string) => Number(/\d+/.exec(host)?.[0] ?? 0) % 3 === first;
  const robotsTroubles = (host: string) => (isTroubled(host) ? 1 : 0);
  return { delayMs: random.whole(1000, 4000), robotsTroubles };
}

/** Half of the clusters are full at once and take everything in small parts. */
function drawBounds(random: Random): Bounds {
  if (random.chance(0.5)) return BOUNDS;
  const pick = (...most: number[]) => random.pick(most);
  return {
    rowEvents: pick(2, 5, 30),
    rowHosts: pick(1, 2, 400),
    batchUrls: pick(1, 3, 400),
    listHosts: pick(1, 2, 1000),
    listParts: BOUNDS.listParts,
    yieldHosts: pick(1, 2, 500),
    outbox: pick(1, 4, 50_000),
    unsettled: pick(1, 4, 20_000),
    unreplicated: pick(1, 4, 64),
    hostsPerTurn: pick(1, 3, 1000),
    // Drawn for all crawls (`drawPlan`).
    pieceUrls: BOUNDS.pieceUrls,
    streamHosts: BOUNDS.streamHosts,
    triedPages: BOUNDS.triedPages,
    refreshUrls: pick(1, 4, 500),
    news: pick(1, 3, 32),
    unconfigured: BOUNDS.unconfigured,
    unconfiguredCapacity: BOUNDS.unconfiguredCapacity,
    robotsWaitMs: BOUNDS.robotsWaitMs,
    // So few that each page tells the root's owner of it again; or so many that none does.
    seenUrls: pick(1, 4, 1024),
    knownUrls: pick(1, 3, 3000),
    knownMembers: BOUNDS.knownMembers,
  };
}

function agentsOf(kind: Kind, random: Random): number {
  if (kind === 'storms') return random.whole(8, random.chance(0.15) ? 30 : 12);
  return random.whole(kind === 'faults' ? 2 : 3, 6);
}

/** Starts the agents, some of them late. */
export function startAgents(plan: Plan): void {
  const { cluster, ids, random, kind } = plan;
  const late = kind === 'calm' || kind === 'cuts' ? 0 : 0.3;
  for (const id of ids) {
    const at = random.chance(late) ? random.between(0, 3000) : random.between(0, 300);
    cluster.at(EPOCH + at, () => {
      // Who comes after the end finds nobody that could tell it so, and would begin anew.
      if (!cluster.agents.has(id) && !anyEnded(plan)) cluster.start(id);
    });
  }
}

export function isUp({ cluster, down, away }: Plan, id: AgentId): boolean {
  const agent = cluster.agents.get(id);
  return agent?.alive === true && !agent.end && !down.has(id) && !away.has(id);
}

export function anyEnded({ cluster, away }: Plan): boolean {
  return [...cluster.agents.values()].some((a) => a.end !== null && !away.has(a.id));
}

/** Notes whether a joined agent speaks with too few others in view for the copies it is to make. */
export function watchForLoners(plan: Plan): void {
  plan.cluster.watchers.push((agent: Running, effects) => {
    for (const effect of effects) {
      if (effect.type !== 'send' || effect.envelope.message.type !== 'HEARTBEAT') continue;
      const { joined, news, more = false } = effect.envelope.message;
      const isAlone = !more && news.length < plan.backups;
      if (joined && isAlone && !plan.away.has(agent.id)) plan.loners.add(agent.id);
      return;
    }
  });
}

/** Notes when the crawl is first said to be complete. */
export function watchForTheEnd(plan: Plan): void {
  const { cluster } = plan;
  cluster.watchers.push(({ id }, effects) => {
    const isSaid = effects.some((e) => e.type === 'send' && e.envelope.message.type === 'COMPLETE');
    if (!isSaid || plan.completeAt <= cluster.now) return;
    plan.completeAt = cluster.now;
    plan.completeBy = [id, ...cluster.snapshot(id).members.map((member) => member.id)];
  });
}
