// Claims of other agents that cannot be true, or that this agent may not act on: each is refused
// where it is checked, counted here, and named in an event `refused`. A sender that makes thousands
// of them must not fill the state file, so an event tells the sum of what came since the last one.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { AgentId } from '../protocol/messages.ts';

/** The kind of claim that was refused. */
export type Claim =
  | 'hello'
  | 'news'
  | 'rows'
  | 'rows-ack'
  | 'list'
  | 'yield-ack'
  | 'urls'
  | 'orders'
  /** Of a message, by its sender: it is no member, was not asked, or has other settings. */
  | 'stranger'
  | 'unasked'
  | 'settings';

/** One sender's claims of one kind are told of at most this often. */
const TOLD_EVERY_MS = 10_000;
/** Senders are named by themselves and may invent names: events of all of them in that time. */
const TOLD_MAX = 30;
/** Sums kept; the oldest is dropped. */
const SUMS_MAX = 1000;

/** The claims of one kind that one agent made. */
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
  #toldInWindow = 0;

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
    if (now.mono - sum.at < TOLD_EVERY_MS || !this.#mayTell(now.mono)) return;
    sum.at = now.mono;
    this.#events.record(now.mono, 'refused', { agent, claim, why, count: sum.count });
  }

  #mayTell(now: number): boolean {
    if (now - this.#windowAt >= TOLD_EVERY_MS) {
      this.#windowAt = now;
      this.#toldInWindow = 0;
    }
    this.#toldInWindow++;
    return this.#toldInWindow <= TOLD_MAX;
  }

  /** Since the process began. */
  sums(): RefusedSum[] {
    return [...this.#sums.values()].map(({ agent, claim, count }) => ({ agent, claim, count }));
  }
}
