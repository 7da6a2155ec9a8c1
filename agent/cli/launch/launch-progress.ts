// What the progress of a launch shows, computed from what the agents last said: sums, the rate, and
// how long the rest will take where that can honestly be told, which is only while the queue shrinks
// steadily: a crawl that still discovers has no known end. Pure; `progress-view.ts` draws it.

import type { AgentStatus } from '../../monitor/agent-status.ts';

export interface Progress {
  readonly alive: number;
  readonly total: number;
  /** Hosts known to the living agents. */
  readonly hosts: number;
  readonly hostsWithQueue: number;
  readonly hostsAwaitingRobots: number;
  /** Why one of them waits; absent where nothing is known. */
  readonly robotsWaitReason?: string | undefined;
  /** Pages of the hosts that the living own, and of the dead what nobody has inherited. */
  readonly pages: number;
  readonly pagesPerSecond: number;
  /** URLs that wait, in queues and outboxes. */
  readonly queued: number;
  readonly openRequests: number;
  /** The operator has ordered all that live to make no new requests. */
  readonly paused: boolean;
  /** Milliseconds left; null where nothing can be said. */
  readonly etaMs: number | null;
}

/** One agent as the launch knows it. */
export interface Reported {
  readonly alive: boolean;
  readonly status: AgentStatus | null;
}

/** The queue must have shrunk for so long, without once growing. */
const steadyMs = 10_000;
/** Fewer samples than this show no trend. */
const samplesMin = 10;

/** Remembers the queue's last seconds between two looks. */
export class ProgressMeter {
  readonly #samples: { at: number; queued: number }[] = [];
  readonly #inherited: boolean;
  #pages = 0;

  /** @param inherited - whether the pages of a dead agent soon count as those of its successors */
  constructor(inherited: boolean) {
    this.#inherited = inherited;
  }

  /** @param now - monotonic milliseconds */
  at(now: number, agents: readonly Reported[]): Progress {
    const living = agents.flatMap(({ alive, status }) => (alive && status ? [status] : []));
    const sum = (of: (status: AgentStatus) => number, from = living) =>
      from.reduce((total, status) => total + of(status), 0);
    const reason = living.find(({ robotsWaitReason }) => robotsWaitReason)?.robotsWaitReason;
    const queued = sum((status) => status.queued + status.outbox);
    return {
      alive: agents.filter(({ alive }) => alive).length,
      total: agents.length,
      hosts: sum((status) => status.hosts),
      hostsWithQueue: sum((status) => status.hostsWithQueue),
      hostsAwaitingRobots: sum((status) => status.hostsAwaitingRobots),
      ...(reason && { robotsWaitReason: reason }),
      pages: this.#pagesOf(agents),
      pagesPerSecond: sum((status) => status.pagesPerSecond),
      queued,
      openRequests: sum((status) => status.openRequests),
      paused: living.length > 0 && living.every((status) => status.paused),
      etaMs: this.#eta(now, queued),
    };
  }

  /** After a death never fewer than before: it takes a while until successors have what was left. */
  #pagesOf(agents: readonly Reported[]): number {
    let pages = 0;
    for (const { alive, status } of agents) {
      if (status && (alive || !this.#inherited)) pages += status.pages;
    }
    const complete = agents.every(({ alive }) => alive);
    this.#pages = complete ? pages : Math.max(this.#pages, pages);
    return this.#pages;
  }

  #eta(now: number, queued: number): number | null {
    const samples = this.#samples;
    // A queue that grew begins the wait anew.
    if (queued > (samples.at(-1)?.queued ?? 0)) samples.length = 0;
    samples.push({ at: now, queued });
    while (samples.length > 2 && now - samples[1]!.at >= steadyMs) samples.shift();
    const first = samples[0]!;
    const elapsedMs = now - first.at;
    const shrunkBy = first.queued - queued;
    if (samples.length < samplesMin || elapsedMs < steadyMs || shrunkBy <= 0) return null;
    return (queued * elapsedMs) / shrunkBy;
  }
}
