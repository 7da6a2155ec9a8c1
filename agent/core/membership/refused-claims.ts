// Counts the claims of other agents that this agent refused, because they cannot be true or the
// sender may not make them, and records events `refused`. The number of events is limited, so that
// a sender of thousands of false claims cannot fill the state file.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { AgentId } from '../protocol/messages.ts';

export type Claim =
  | 'hello'
  | 'news'
  | 'rows'
  | 'rows-ack'
  | 'list'
  | 'yield-ack'
  | 'urls'
  | 'orders'
  /** A message whose sender is not a member, was not asked, or has other settings. */
  | 'stranger'
  | 'unasked'
  | 'settings';

/** Minimum time between two events for the same sender and kind of claim. */
const EVENT_EVERY_MS = 10_000;
/** Maximum number of events in that time for all senders: a sender may invent identifiers. */
const EVENTS_MAX = 30;
/** Counts kept; the oldest is dropped. */
const SUMS_MAX = 1000;

/** The refused claims of one kind from one agent, since the process began. */
export interface RefusedSum {
  readonly agent: AgentId;
  readonly claim: Claim;
  readonly count: number;
}

export class RefusedClaims {
  readonly #events: Pick<EventLog, 'record'>;
  /** By sender and kind. Filled by `refuse`, which drops the oldest beyond `SUMS_MAX`. */
  readonly #sums = new Map<string, { agent: AgentId; claim: Claim; count: number; at: number }>();
  #windowAt = -Infinity;
  #eventsInWindow = 0;

  constructor(events: Pick<EventLog, 'record'>) {
    this.#events = events;
  }

  /** @param why - completes the sentence *it was refused, because ...* */
  refuse(agent: AgentId, claim: Claim, why: string, now: Instant): void {
    const key = `${claim} ${agent}`;
    const sum = this.#sums.get(key) ?? { agent, claim, count: 0, at: -Infinity };
    sum.count++;
    this.#sums.set(key, sum);
    if (this.#sums.size > SUMS_MAX) {
      const oldest = this.#sums.keys().next().value;
      if (oldest !== undefined) this.#sums.delete(oldest);
    }
    if (now.mono - sum.at < EVENT_EVERY_MS || !this.#mayRecord(now.mono)) return;
    sum.at = now.mono;
    this.#events.record(now.mono, 'refused', { agent, claim, why, count: sum.count });
  }

  #mayRecord(now: number): boolean {
    if (now - this.#windowAt >= EVENT_EVERY_MS) {
      this.#windowAt = now;
      this.#eventsInWindow = 0;
    }
    return ++this.#eventsInWindow <= EVENTS_MAX;
  }

  sums(): RefusedSum[] {
    return [...this.#sums.values()].map(({ agent, claim, count }) => ({ agent, claim, count }));
  }
}
