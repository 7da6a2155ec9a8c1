// The state of a list of hosts that this agent hands over to a member, the sources of its hosts, and
// what it asks about them.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { AgentId, Host } from '../protocol/messages.ts';

export interface GivenList {
  readonly number: number;
  readonly to: AgentId;
  readonly source: ListSource;
  /** Hosts from the source that are not in a part yet. */
  unsent: Host[];
  /** The part that waits for its LIST_ACK; null: the next part is to be made. */
  sending: { readonly hosts: readonly Host[]; readonly last: boolean } | null;
  part: number;
  /** The last part is acknowledged: the hosts can be yielded. */
  named: boolean;
  /** Listed hosts without a YIELD_ACK. */
  readonly pending: Set<Host>;
  readonly withdrawn: Set<Host>;
  /** See LIST; empty unless this agent leaves. */
  readonly leavers: readonly AgentId[];
  readonly openedAt: number;
  /** Until this time a host with unsettled pages is not yielded. */
  readonly settleUntil: number;
  sentAt: number;
  /** Hosts of the YIELD that waits for its YIELD_ACK. */
  offered: Host[];
  /** Hosts that were in any YIELD: only those can be acknowledged. */
  readonly yielded: Set<Host>;
  /** Number of listed hosts. */
  total: number;
}

/** Whether the list has the host, which is neither handed over nor withdrawn. */
export function hasOpen({ pending, withdrawn }: GivenList, host: Host): boolean {
  return pending.has(host) && !withdrawn.has(host);
}

/** A list whose hosts are all yielded or withdrawn. */
export interface FinishedList {
  readonly to: AgentId;
  readonly hosts: number;
  readonly tookMs: number;
}

/** Hosts read some at a time, and which of them go on the list. */
export interface ListSource {
  readonly walk: { take(max: number): readonly Host[]; readonly isOver: boolean };
  readonly names: (host: Host) => boolean;
}

/** The state of hosts on which a YIELD depends. */
export interface YieldableHosts {
  /** Whether a request of this agent to the host is open. */
  isOpen(host: Host): boolean;
  /**
   * Whether `to` has all rows of the host, and its pages are settled or `settleUntil` has passed.
   */
  isGiven(host: Host, to: AgentId, settleUntil: number): boolean;
  waitLeftMs(host: Host, now: Instant): number;
  /** The host is on a list to `to`, which must get its rows. */
  named(host: Host, to: AgentId): void;
  /** How long IP addresses may still be in use or cooling down, in milliseconds. */
  permitsMs(now: Instant): number;
}

/** A source whose hosts are all in memory. */
export class GivenHosts {
  readonly #hosts: readonly Host[];
  #next = 0;

  constructor(hosts: readonly Host[]) {
    this.#hosts = hosts;
  }

  get isOver(): boolean {
    return this.#next >= this.#hosts.length;
  }

  take(max: number): readonly Host[] {
    this.#next += max;
    return this.#hosts.slice(this.#next - max, this.#next);
  }
}
