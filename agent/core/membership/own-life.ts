// What others say of this agent itself: that it is gone, or that it has a later incarnation (PROTOCOL
// rules 4 and 5).

import type { Instant } from '../../../failure-detector/instant.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Outbound } from './outbound.ts';
import type { RefusedClaims } from './refused-claims.ts';

type Heartbeat = Extract<Message, { type: 'HEARTBEAT' }>;
type Said = { readonly id: AgentId; readonly inc: Incarnation };

/**
 * Agents refuse an incarnation that is more than 366 days ahead of their clocks
 * (`monitor/start-clock.ts`). This agent must not be driven there, by clocks that differ by a day either.
 */
const AHEAD_MS_MAX = 365 * 24 * 3600 * 1000;

/** What follows for this agent. */
export interface Consequences {
  /** This agent is called gone: it must go on with an incarnation above this one. */
  calledGone(above: Incarnation, now: Instant): void;
  impostor(inc: Incarnation): void;
}

export class OwnLife {
  readonly #settings: Pick<CoreSettings, 'id'>;
  readonly #outbound: Pick<Outbound, 'inc'>;
  readonly #changes: Consequences;
  readonly #refused: Pick<RefusedClaims, 'refuse'>;

  constructor(parts: {
    settings: Pick<CoreSettings, 'id'>;
    outbound: Pick<Outbound, 'inc'>;
    changes: Consequences;
    refused: Pick<RefusedClaims, 'refuse'>;
  }) {
    this.#settings = parts.settings;
    this.#outbound = parts.outbound;
    this.#changes = parts.changes;
    this.#refused = parts.refused;
  }

  /**
   * Whether this incarnation is called gone; then this agent goes on above every one that is
   * known of it: with an empty database it may be behind its own former lives.
   */
  isOver(against: readonly Said[], news: readonly Said[], now: Instant): boolean {
    const called = this.#highest(against, now);
    if (called < this.#outbound.inc) return false;
    this.#changes.calledGone(Math.max(called, this.#highest(news, now)), now);
    return true;
  }

  /** Of a higher incarnation, from one who may say so: a former life's, or a second process. */
  isLater(inc: Incarnation, joined: boolean, now: Instant): void {
    if (inc <= this.#outbound.inc) return;
    if (joined) this.#changes.impostor(inc);
    else if (inc <= this.#highestBelieved(now)) this.#changes.calledGone(inc, now);
  }

  /** What an agent that was never a member says of this one changes nothing. */
  hearStranger(id: AgentId, { gone, suspects, news }: Heartbeat, now: Instant): void {
    const { id: me } = this.#settings;
    const { inc } = this.#outbound;
    const isAgainst = (said: Said) => said.id === me && said.inc >= inc;
    const isTwin = (said: Said) => said.id === me && said.inc > inc;
    if (id === me) return;
    if (![...gone, ...suspects].some(isAgainst) && !news.some(isTwin)) return;
    const why = 'it is no member, and says that this agent is gone or has a later life';
    this.#refused.refuse(id, 'news', why, now);
  }

  #highest(all: readonly Said[], now: Instant): Incarnation {
    const max = this.#highestBelieved(now);
    const ofMe = all.filter(({ id, inc }) => id === this.#settings.id && inc <= max);
    return Math.max(0, ...ofMe.map(({ inc }) => inc));
  }

  #highestBelieved(now: Instant): Incarnation {
    return Math.max(this.#outbound.inc, now.wall + AHEAD_MS_MAX);
  }
}
