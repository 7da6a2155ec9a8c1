// What the core says of itself at a moment: plain data for `status` and for tests, made by
// `Core.snapshot`. The agent adds what it knows of its process (agent/monitor/status.ts).

import type { Instant } from '../../failure-detector/instant.ts';
import type { Course } from './ending.ts';
import type { RecentEvent } from './event-log.ts';
import type { AgentId, Incarnation } from './messages.ts';
import type { View } from './view.ts';

export interface CoreSnapshot {
  readonly id: AgentId;
  readonly incarnation: Incarnation;
  readonly joined: boolean;
  readonly course: Course['kind'];
  readonly idle: boolean;
  /** By the operator's order. */
  readonly paused: boolean;
  readonly members: readonly {
    readonly id: AgentId;
    readonly inc: Incarnation;
    readonly capacity: number;
    readonly address: string;
    readonly joined: boolean;
    readonly leaving: boolean;
    readonly silentMs: number;
    readonly relayed: boolean;
  }[];
  readonly openRequests: number;
  readonly queued: number;
  readonly outbox: number;
  readonly unsettled: number;
  /** Pages that this process has fetched: it only grows, while hosts come and go. */
  readonly fetched: number;
  /** Batches of peers that wait to be safe at this agent's backups. */
  readonly unanswered: number;
  /** Hosts whose copies at other agents are behind. */
  readonly copyLag: number;
  readonly handOff: { given: number; owed: number; awaited: number };
  readonly budgets: BudgetsSnapshot;
  /** The last events of this process, oldest first. */
  readonly recent: readonly RecentEvent[];
}

/** What the cluster shares (adr/0030, adr/0031), as one agent has it; null where there is no bound. */
export interface BudgetsSnapshot {
  readonly pages: {
    /** `limits.pages` */
    readonly limit: number;
    /** Tokens that may become pages of this agent yet: in stock, or with open requests. */
    readonly tokens: number;
    readonly hostsWaiting: number;
    /** By the word of the agent that grants: whatever is queued ends. */
    readonly reached: boolean;
    /** At the agent that grants: pages counted, and tokens granted since; null at the others. */
    readonly spent: number | null;
  } | null;
  readonly addresses: {
    /** `politeness.ipDelayMs` */
    readonly delayMs: number;
    /** Addresses in use or at rest whose slots this agent grants, and how many of these it has. */
    readonly owned: number;
    readonly granted: number;
    /** Slots with which this agent has requests open, and hosts of its own that wait for one. */
    readonly used: number;
    readonly hostsWaiting: number;
  } | null;
}

/** The members of the view, as they stand. */
export function membersAt(view: View, now: Instant): CoreSnapshot['members'] {
  return [...view.members()].map((m) => ({
    ...m.card,
    joined: m.joined,
    leaving: m.leaving,
    silentMs: Math.round(now.mono - m.heardAt),
    relayed: !m.hearsMe,
  }));
}
