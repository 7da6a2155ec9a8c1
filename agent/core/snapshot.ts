// The state of the core at one moment, as plain data for `status` and for tests. The agent adds the
// state of its process (agent/monitor/agent-status.ts).

import type { Instant } from '../../failure-detector/instant.ts';
import type { Assembly } from './assembly.ts';
import type { BudgetsSnapshot } from './budgets/budgets.ts';
import type { LifecycleState } from './lifecycle/shutdown.ts';
import type { RefusedSum } from './membership/refused-claims.ts';
import type { View } from './membership/view.ts';
import type { Store } from './protocol/core-store.ts';
import type { RecentEvent } from './protocol/event-log.ts';
import type { AgentId, Incarnation } from './protocol/messages.ts';

export interface CoreSnapshot {
  readonly id: AgentId;
  readonly incarnation: Incarnation;
  readonly joined: boolean;
  /** Why this agent has not joined, or may not crawl; completes *this agent ...*. */
  readonly waits?: string;
  readonly lifecycle: LifecycleState['kind'];
  readonly idle: boolean;
  /** By a directive of the operator. */
  readonly paused: boolean;
  /** Digest of the directives: equal for agents that have the same ones. */
  readonly directives: string;
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
  /** Of this incarnation. */
  readonly capacity: number;
  readonly openRequests: number;
  /** By a directive of the operator or the config. */
  readonly threads: number;
  readonly queued: number;
  readonly outbox: number;
  readonly unsettled: number;
  /** Pages that this process has fetched. Never falls, even if hosts move away. */
  readonly fetched: number;
  /** Batches of URLs from peers that this agent has not acknowledged yet. */
  readonly unanswered: number;
  /** Hosts whose copies at other agents are incomplete. */
  readonly copyLag: number;
  readonly handOff: { given: number; owed: number; awaited: number };
  readonly budgets: BudgetsSnapshot;
  /** Claims of other agents that were refused since the process started. */
  readonly refused: readonly RefusedSum[];
  /** The last events of this process, oldest first. */
  readonly recent: readonly RecentEvent[];
}

function membersAt(view: View, now: Instant): CoreSnapshot['members'] {
  return [...view.members()].map((m) => ({
    ...m.card,
    joined: m.joined,
    leaving: m.leaving,
    silentMs: Math.round(now.mono - m.heardAt),
    relayed: !m.hearsMe,
  }));
}

export function snapshotOf(
  parts: Assembly,
  store: Store,
  { id, idle }: Pick<CoreSnapshot, 'id' | 'idle'>,
  now: Instant,
): CoreSnapshot {
  const { view, settlement, joinWait, quorumWait } = parts;
  const waits = joinWait.reason ?? quorumWait.reason;
  return {
    ...{ id, idle, ...(waits !== null && { waits }) },
    incarnation: parts.outbound.inc,
    joined: view.joined,
    lifecycle: parts.shutdown.state,
    paused: parts.directives.paused,
    directives: parts.directives.hash(),
    members: membersAt(view, now),
    capacity: parts.directed.current,
    openRequests: parts.visits.openCount(),
    threads: parts.visits.threads,
    queued: store.owned().queued,
    outbox: store.outboxCount(),
    unsettled: settlement.count,
    fetched: settlement.fetched,
    unanswered: parts.inbox.count,
    copyLag: parts.replication.lag(),
    handOff: parts.handOff.counts(),
    budgets: parts.budgets.snapshot(),
    refused: parts.refused.sums(),
    recent: parts.events.recent(now.mono),
  };
}
