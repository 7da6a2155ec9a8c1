// The status that an agent reports, which `ubiring status` and the progress of `launch` show, and
// the rate of pages in it. The status is sent between processes as JSON.

import type { NetworksStatus } from '../core/crawl/networks-port.ts';
import type { CoreSnapshot } from '../core/snapshot.ts';

export interface AgentStatus extends CoreSnapshot {
  /** The `name` of its config; absent from an agent of an earlier version. */
  readonly crawl?: string;
  readonly pid: number;
  /** URL of its dashboard; absent: it serves none. */
  readonly dashboard?: string;
  /** Absent: the crawl is not shared with other networks. */
  readonly networks?: NetworksStatus;
  readonly hosts: number;
  readonly hostsWithQueue: number;
  /** Hosts with a queue whose robots.txt, or the one it redirects to, is out of reach. */
  readonly hostsAwaitingRobots: number;
  /** Why one of these hosts waits, for example `dns`; null if none waits. */
  readonly robotsWaitReason?: string | null;
  /** Hosts whose pages repeat, and one of them; null: there are none. Absent from older agents. */
  readonly traps?: {
    readonly slowed: number;
    /** Their queues were skipped (limits.stalePages). */
    readonly stopped: number;
    readonly host: string;
  } | null;
  /**
   * Agents that it knew and that are no members now, with the last event about each; absent from
   * older agents.
   */
  readonly gone?: readonly {
    readonly id: string;
    readonly kind: 'join' | 'suspect' | 'leave';
    readonly ageMs: number;
  }[];
  /** The number of the last event in its state; 0: there is none. Absent from older agents. */
  readonly lastEvent?: number;
  /** Free space for the state of the agent; null: not known. Absent from older agents. */
  readonly diskFreeBytes?: number | null;
  /** URLs that ended with a response or failed. */
  readonly pages: number;
  /** Over the last ten seconds. */
  readonly pagesPerSecond: number;
  /** Requests that failed since the start, by class, such as `dns` or `5xx`; absent from older agents. */
  readonly failures?: Readonly<Record<string, number>>;
  /** 99th percentile of the event loop's delay over the last ten to twenty seconds. */
  readonly loopDelayMs: number;
  readonly rssBytes: number;
  /**
   * Messages and bytes of frames sent to other agents since the start, by type; with the overlay
   * kademlia, by operation of the paper (docs/OVERLAY.md).
   */
  readonly traffic: Readonly<Partial<Record<string, { messages: number; bytes: number }>>>;
  readonly uptimeMs: number;
}

/** Time over which a rate is computed, and the interval between its samples. */
const WINDOW_MS = 10_000;
const SAMPLE_MS = 1000;

/**
 * Events a second over the last ten seconds, from samples of a growing count. If the last call is
 * longer ago, the rate is since that call.
 */
export class Rate {
  readonly #samples: { at: number; count: number }[] = [];

  /** @param startedAtMs - time at which the count was 0 */
  constructor(startedAtMs: number) {
    this.#samples.push({ at: startedAtMs, count: 0 });
  }

  /** @returns events a second since the newest sample before the window; 0 in the first 0.5 s */
  at(nowMs: number, count: number): number {
    const last = this.#samples.at(-1)!;
    if (nowMs - last.at >= SAMPLE_MS) this.#samples.push({ at: nowMs, count });
    while (this.#samples.length > 1 && nowMs - this.#samples[1]!.at >= WINDOW_MS) {
      this.#samples.shift();
    }
    const first = this.#samples[0]!;
    const seconds = (nowMs - first.at) / 1000;
    return seconds < 0.5 ? 0 : (count - first.count) / seconds;
  }
}
