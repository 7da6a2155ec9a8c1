// Computes the progress of a crawl from the last reports of its agents. The remaining time is
// estimated only while the queue shrinks steadily, since a crawl that still finds URLs has no
// foreseeable end.

import type { AgentStatus } from '../../monitor/agent-status.ts';

export interface Progress {
  readonly alive: number;
  readonly total: number;
  /** Hosts that the living agents own. */
  readonly hosts: number;
  readonly hostsWithQueue: number;
  readonly hostsAwaitingRobots: number;
  /** Why one of them waits; absent if it is unknown. */
  readonly robotsWaitReason?: string | undefined;
  /** Pages of the living agents. Pages of dead agents count if no agent has copies of them. */
  readonly pages: number;
  readonly pagesPerSecond: number;
  /** URLs in queues and outboxes. */
  readonly queued: number;
  readonly openRequests: number;
  /** Whether the operator has paused all living agents. */
  readonly paused: boolean;
  /** Milliseconds left; null if there is no estimate. */
  readonly etaMs: number | null;
  /** Absent: the crawl is not shared with other networks. */
  readonly shared?: SharedProgress;
}

interface SharedProgress {
  readonly network: string;
  /** The crawl of this network is complete, and waits for these. */
  readonly awaited: readonly string[];
  /** By network, why its Redis cannot be used: the message of the failure. */
  readonly lost: ReadonlyMap<string, string>;
}

export interface Reported {
  readonly alive: boolean;
  /** It has handed over its hosts and left on command: others report its pages. */
  readonly left?: boolean;
  readonly status: AgentStatus | null;
}

/** An estimate needs a queue that has not grown for this time. */
const steadyMs = 10_000;
/** After the death of an agent, successors have reported its pages by then. */
const inheritMsMax = 60_000;
/** An estimate from fewer samples would be too rough. */
const samplesMin = 10;

/** Keeps the queue lengths of the last `steadyMs`. */
export class ProgressMeter {
  readonly #samples: { at: number; queued: number; alive: number }[] = [];
  readonly #inherited: boolean;
  #pages = 0;
  /** When no host moved last: the pages, and how many each process had fetched. */
  #unmoved: { readonly pages: number; readonly fetched: ReadonlyMap<string, number> } | null = null;
  #alive = 0;
  /** When the number of living agents changed last. */
  #changedAt = 0;

  /** @param inherited - whether successors take over the pages of a dead agent */
  constructor(inherited: boolean) {
    this.#inherited = inherited;
  }

  /** @param now - monotonic milliseconds */
  at(now: number, all: readonly Reported[]): Progress {
    const agents = all.filter(({ left }) => left !== true);
    const living = agents.flatMap(({ alive, status }) => (alive && status ? [status] : []));
    const sum = (of: (status: AgentStatus) => number) =>
      living.reduce((total, status) => total + of(status), 0);
    const reason = living.find(({ robotsWaitReason }) => robotsWaitReason)?.robotsWaitReason;
    const queued = sum((status) => status.queued + status.outbox);
    const alive = agents.filter((agent) => agent.alive).length;
    if (alive !== this.#alive) this.#changedAt = now;
    this.#alive = alive;
    const eta = this.#eta(now, queued, alive);
    const shared = sharedOf(living);
    // Without work of its own, the end depends on the other networks.
    const isHeldUp = shared !== null && (queued === 0 || shared.lost.size > 0);
    return {
      alive,
      total: agents.length,
      hosts: sum((status) => status.hosts),
      hostsWithQueue: sum((status) => status.hostsWithQueue),
      hostsAwaitingRobots: sum((status) => status.hostsAwaitingRobots),
      ...(reason && { robotsWaitReason: reason }),
      pages: this.#pagesOf(now, agents, fetchedBy(all)),
      pagesPerSecond: sum((status) => status.pagesPerSecond),
      queued,
      openRequests: sum((status) => status.openRequests),
      paused: living.length > 0 && living.every((status) => status.paused),
      etaMs: isHeldUp ? null : eta,
      ...(shared && { shared }),
    };
  }

  /**
   * Does not decrease after a death: successors report the inherited pages with a delay. While hosts
   * move, two agents may report the same pages, so the count grows only by fetched pages.
   */
  #pagesOf(now: number, agents: readonly Reported[], fetched: ReadonlyMap<string, number>): number {
    let pages = 0;
    for (const { alive, status } of agents) {
      if (status && (alive || !this.#inherited)) pages += status.pages;
    }
    const move = movesOf(agents);
    if (move && this.#unmoved) {
      const { pages: before, fetched: then } = this.#unmoved;
      // A process that was started again counts from 0.
      let most = before;
      for (const [id, n] of fetched) {
        const earlier = then.get(id) ?? 0;
        most += n < earlier ? n : n - earlier;
      }
      pages = Math.min(pages, most);
    }
    const complete = agents.every(({ alive }) => alive);
    const isInherited = complete || now - this.#changedAt >= inheritMsMax;
    this.#pages = isInherited ? pages : Math.max(this.#pages, pages);
    if (move === false) this.#unmoved = { pages: this.#pages, fetched };
    return this.#pages;
  }

  #eta(now: number, queued: number, alive: number): number | null {
    const samples = this.#samples;
    const last = samples.at(-1);
    // A queue that has grown starts a new measurement, and so does the death of an agent, whose
    // queue is missing until the others take its hosts over.
    if (queued > (last?.queued ?? 0) || alive !== last?.alive) samples.length = 0;
    samples.push({ at: now, queued, alive });
    while (samples.length > 2 && now - samples[1]!.at >= steadyMs) samples.shift();
    const first = samples[0]!;
    const elapsedMs = now - first.at;
    const shrunkBy = first.queued - queued;
    if (samples.length < samplesMin || elapsedMs < steadyMs || shrunkBy <= 0) return null;
    return (queued * elapsedMs) / shrunkBy;
  }
}

/** Pages that each process has fetched. */
function fetchedBy(agents: readonly Reported[]): ReadonlyMap<string, number> {
  return new Map(agents.flatMap(({ status }) => (status ? [[status.id, status.fetched]] : [])));
}

/** Whether hosts move, or a member that joins may still report hosts of others; null: not known. */
function movesOf(agents: readonly Reported[]): boolean | null {
  const living = agents.filter(({ alive }) => alive);
  const statuses = living.flatMap(({ status }) => status ?? []);
  const joined = statuses.filter((status) => status.joined).length;
  if (joined > 0 && joined < statuses.length) return true;
  if (statuses.some(({ handOff }) => handOff.given > 0 || handOff.awaited > 0)) return true;
  return statuses.length < living.length ? null : false;
}

function sharedOf(living: readonly AgentStatus[]): SharedProgress | null {
  const all = living.flatMap(({ networks }) => networks ?? []);
  const [first] = all;
  if (first === undefined) return null;
  const awaited = all.flatMap((one) => one.awaited ?? []);
  const failures = all.flatMap((one) => one.failures);
  const lost = new Map(failures.map(({ network, message }) => [network, message]));
  return { network: first.network, awaited: sorted(awaited), lost };
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}
