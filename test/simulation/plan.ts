// The plan of one run of the swarm, drawn from its seed: the cluster with its web, the quality of
// the network, the number of copies. It also records the faults so far, because some promises do
// not hold under some faults (docs/RELIABILITY.md).

import { BOUNDS, type Bounds } from '../../agent/core/protocol/bounds.ts';
import type { Effect } from '../../agent/core/protocol/effects.ts';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { Cluster, EPOCH, SUSPECT_MS } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import type { KademliaPlan } from './kademlia-plan.ts';
import { drawOddPages } from './odd-pages.ts';
import { Random } from './random.ts';
import { drawLeads } from './robots-web.ts';
import type { Running } from './running.ts';
import { addCrossLinks, addManyLinks, drawWeb, type Web } from './webs.ts';
import { SLICE_UNITS } from './work.ts';

/**
 * `calm`: only a bad network. `moves`: late joins, leaves, other capacities, clock changes.
 * `faults`: `moves` plus crashes, stalls, cuts and partitions. `disks`: crashes with power losses,
 * disks that are set back or slow, rows that rarely arrive. `cuts`: one direction of a link is dead
 * for the whole crawl. `storms`: up to thirty agents and occasional crashes. `budgets`: `faults` on
 * hosts that share addresses, some with a page limit. `waits`: delays so long that hosts move away
 * and back within one, and servers that fail to serve their robots.txt at first; some crawls have
 * no copies. `shares`: `faults`, and directives that drain agents or change capacities and threads (`shares.ts`).
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
  'shares',
] as const;
export type Kind = (typeof KINDS)[number];
export type OverlayName = 'ring' | 'kademlia';

/** All faults start within this time; then the cluster heals. */
export const SPAN_MS = 6000;
export const DELAY_MS = 60;

export interface Plan {
  readonly kind: Kind;
  readonly quorum: 'none' | 'majority';
  readonly backups: number;
  readonly ids: readonly AgentId[];
  readonly random: Random;
  readonly cluster: Cluster;
  /** The agents that each agent knows when it starts for the first time. */
  readonly contacts: readonly AgentId[];
  /** There are so many agents with few identifiers that all views are partial. */
  readonly isWide: boolean;
  /** Page limit of the crawl; null: none. */
  readonly pagesMax: number | null;
  readonly capacities: Map<AgentId, number>;
  /** Capacity at the next start. An agent that does not return before the end never had it. */
  readonly reweighed: Map<AgentId, number>;
  /** Agents that are down and will return. */
  readonly down: Set<AgentId>;
  /** Agents that left or will never return. */
  readonly away: Set<AgentId>;
  /**
   * The agent that returns at another address after some of its crashes. It has its own random
   * source.
   */
  readonly mover: AgentId;
  readonly moving: Random;
  /** Links that were cut for so long that PROBEs over them count as unanswered. */
  readonly longCuts: (readonly [AgentId, AgentId])[];
  /** Links that are cut for the whole crawl. */
  readonly deadLinks: (readonly [AgentId, AgentId])[];
  /** Agents whose disks were set back. */
  readonly setBack: Set<AgentId>;
  /** A disk was lost for good or set back. Data with one copy fewer tolerates one fewer loss. */
  spent: boolean;
  /** Whether a whole disk was lost, not only its unsynced data. */
  diskLost: boolean;
  /** Agents that crawled with fewer members than the configured copies need. */
  readonly loners: Set<AgentId>;
  /** No third agent could relay news. Under `none` both sides continue to crawl. */
  split: boolean;
  cutUntil: number;
  healed: boolean;
  /** When the last refresh was requested; null: never. */
  refreshedAt: number | null;
  /** When an agent first sent COMPLETE; Infinity: none has. */
  completeAt: number;
  /** The view of that agent then, itself included. Agents that return later had no vote. */
  completeBy: readonly AgentId[];
}

export function drawPlan(seed: number, kind: Kind, overlay: OverlayName = 'ring'): Plan {
  const random = new Random(seed * 7919 + 13);
  const isPartial = overlay === 'kademlia';
  const isWide = isPartial && isWideAt(seed);
  const few = agentsOf(kind, random);
  const many = isWide ? 2 * few + 6 : few * timesOf(seed);
  const length = Math.min(AGENTS_MAX, isPartial ? many : few);
  const ids = Array.from({ length }, (_, i) => `a${i + 1}`);
  const isNone = random.chance(kind === 'cuts' ? 1 : 0.5);
  const quorum = isNone || isPartial ? 'none' : 'majority';
  const backups = drawBackups(kind, ids.length, random);
  const storm = kind === 'storms';
  const waits = kind === 'waits' ? drawWaits(random) : { delayMs: DELAY_MS };
  const web = drawWeb(
    random,
    random.whole(3, storm ? 20 : 8),
    kind === 'waits' ? random.whole(3, 6) : random.whole(storm ? 4 : 12, storm ? 30 : 50),
  );
  // A lost link shows best if it was the only way to a page. A link wrongly assumed safe shows best
  // if there are other ways.
  const crossing = new Random(seed * 611_953 + 29);
  if (crossing.chance(0.5)) addCrossLinks(web, crossing);
  const rates = new Map(ids.map((id) => [id, random.between(0.98, 1.02)]));
  const patience = new Map(ids.map((id) => [id, random.chance(0.5) ? 1 : random.between(1, 1.6)]));
  const capacities = new Map(
    ids.map((id) => [id, random.pick(isWide ? [1, 1, 1, 2] : [1, 1, 2, 3])]),
  );
  const loss = random.pick([0, 0.02, 0.1]);
  // Large inputs are handled in pieces. Pieces of one URL, one a turn, leave a gap after each.
  const slicing = new Random(seed * 433_494_437 + 7);
  const sliceUnits = slicing.pick([1, 30, SLICE_UNITS]);
  const bounds = {
    ...drawBounds(random),
    pieceUrls: slicing.pick([1, 3, BOUNDS.pieceUrls]),
    streamHosts: slicing.pick([1, 3, BOUNDS.streamHosts]),
    triedPages: slicing.pick([1, 3, BOUNDS.triedPages]),
  };
  for (const links of drawExpense(slicing, bounds)) addManyLinks(web, slicing, links);
  const kademlia = drawKademlia(seed, ids, backups);
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
    ...(isPartial && { kademlia }),
  });
  const pagesMax = shared.pagesMax ?? null;
  const moving = new Random(seed * 99_991 + 17);
  const { contacts } = isPartial ? kademlia : { contacts: ids };
  const drawn = { kind, quorum, backups, ids, contacts, random, cluster, pagesMax } as const;
  const varied = { capacities, isWide, moving, mover: moving.pick(ids) };
  return { ...drawn, ...varied, ...noFaults(ids) };
}

/** The record of a run before its first fault. */
function noFaults(completeBy: readonly AgentId[]) {
  return {
    completeAt: Infinity,
    completeBy,
    down: new Set<AgentId>(),
    away: new Set<AgentId>(),
    longCuts: [],
    deadLinks: [],
    reweighed: new Map<AgentId, number>(),
    setBack: new Set<AgentId>(),
    loners: new Set<AgentId>(),
    spent: false,
    diskLost: false,
    split: false,
    healed: false,
    cutUntil: 0,
    refreshedAt: null,
  };
}

function drawTwo(random: Random, ids: readonly AgentId[]): AgentId[] {
  const first = random.pick(ids);
  return [first, random.pick(ids.filter((id) => id !== first))];
}

/** A small neighbourhood, so that views are partial. */
function drawKademlia(seed: number, ids: readonly AgentId[], backups: number): KademliaPlan {
  const random = new Random(seed * 271_828_183 + 5);
  return {
    // Through a single one, an agent whose link to it is cut could not join.
    contacts: drawTwo(random, ids),
    ids: random.pick(isWideAt(seed) ? [1, 1, 1, 2] : [1, 1, 2]),
    neighbourhood: backups + 3,
    bucketSize: random.pick([2, 3, 20]),
  };
}

/**
 * Numbers of links of expensive pages, in a third of the crawls. More than some thousands would be
 * over 100 milliseconds of work in one turn. With small messages the copies would take too long.
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

const AGENTS_MAX = 60;
/** Delay between two requests to one address. */
export const IP_DELAY_MS = 45;
const NO_BUDGETS: Partial<ClusterOptions> = {};

/**
 * Puts all hosts on one to three addresses. Every other crawl has a page limit, usually below the
 * size of its web.
 */
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

/** Half of the clusters have tiny bounds and exchange everything in small parts. */
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
    // Drawn for all crawls in `drawPlan`.
    pieceUrls: BOUNDS.pieceUrls,
    streamHosts: BOUNDS.streamHosts,
    triedPages: BOUNDS.triedPages,
    refreshUrls: pick(1, 4, 500),
    news: pick(1, 3, 32),
    unconfigured: BOUNDS.unconfigured,
    unconfiguredCapacity: BOUNDS.unconfiguredCapacity,
    robotsWaitMs: BOUNDS.robotsWaitMs,
    // Either so few that each page reports it to the root's owner again, or so many that none does.
    seenUrls: pick(1, 4, 1024),
    knownUrls: pick(1, 3, 3000),
    knownMembers: BOUNDS.knownMembers,
  };
}

function agentsOf(kind: Kind, random: Random): number {
  if (kind === 'storms') return random.whole(8, random.chance(0.15) ? 30 : 12);
  return random.whole(kind === 'faults' ? 2 : 3, 6);
}

/** With four times as many agents, some neighbourhoods have no agent in common. */
function timesOf(seed: number): number {
  return new Random(seed * 141_421_356 + 3).pick([1, 2, 4]);
}

/**
 * Every other crawl over Kademlia has at least ten agents with few identifiers, so all views are
 * partial, and its late agents start together, so they learn their regions from one another.
 */
function isWideAt(seed: number): boolean {
  return seed % 2 === 0;
}

/** Starts the agents, some of them late. */
export function startAgents(plan: Plan): void {
  const { cluster, ids, random, kind } = plan;
  const together = plan.isWide ? random.between(300, 3000) : null;
  const late = kind === 'calm' || (kind === 'cuts' && !plan.isWide) ? 0 : 0.3;
  for (const id of ids) {
    const at = random.chance(late) ? (together ?? random.between(0, 3000)) : random.between(0, 300);
    cluster.at(EPOCH + at, () => {
      if (mayStart(plan, id)) cluster.start(id);
    });
  }
}

/**
 * Whether the agent has not started yet and can find the cluster. After the end it would meet no
 * agent that says so, and would crawl anew. If all contacts have left, it meets nobody.
 */
export function mayStart(plan: Plan, id: AgentId): boolean {
  const { cluster, contacts, away } = plan;
  if (cluster.agents.has(id) || anyEnded(plan)) return false;
  return contacts.includes(id) || contacts.some((contact) => !away.has(contact));
}

export function isUp({ cluster, down, away }: Plan, id: AgentId): boolean {
  const agent = cluster.agents.get(id);
  return agent?.alive === true && !agent.end && !down.has(id) && !away.has(id);
}

export function anyEnded({ cluster, away }: Plan): boolean {
  return [...cluster.agents.values()].some((a) => a.end !== null && !away.has(a.id));
}

/**
 * Records joined agents that send heartbeats while their view is too small for the copies they must
 * make. Over the Kademlia overlay an agent with an empty view sends none.
 */
export function watchForLoners(plan: Plan): void {
  const isHeartbeat = (effect: Effect) =>
    effect.type === 'send' && effect.envelope.message.type === 'HEARTBEAT';
  plan.cluster.watchers.push(({ id, core }: Running, effects) => {
    if (plan.loners.has(id)) return;
    if (!plan.cluster.isPartial && !effects.some(isHeartbeat)) return;
    if (core.whereabouts.members().length >= plan.backups || plan.away.has(id)) return;
    if (plan.cluster.snapshot(id).joined) plan.loners.add(id);
  });
}

/** Records when an agent first sends COMPLETE. */
export function watchForTheEnd(plan: Plan): void {
  const { cluster } = plan;
  cluster.watchers.push(({ id }, effects) => {
    const isSaid = effects.some((e) => e.type === 'send' && e.envelope.message.type === 'COMPLETE');
    if (!isSaid || plan.completeAt <= cluster.now) return;
    plan.completeAt = cluster.now;
    plan.completeBy = cluster.knownTo(id);
  });
}
