// Handles reports about this agent itself: that it was removed, or that it has a later incarnation
// (PROTOCOL rules 4 and 5).

import type { Instant } from '../../../failure-detector/instant.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Outbound } from './outbound.ts';
import type { RefusedClaims } from './refused-claims.ts';

type Heartbeat = Extract<Message, { type: 'HEARTBEAT' }>;
type Said = { readonly id: AgentId; readonly inc: Incarnation };

/**
 * How far ahead of this agent's clock a reported incarnation of it may be. Agents refuse
 * incarnations that are more than 366 days ahead of their clocks; the day between allows for clocks
 * that differ.
 */
const AHEAD_MS_MAX = 365 * 24 * 3600 * 1000;

export interface Consequences {
  /** This agent must take an incarnation higher than `above`, because it was `why`. */
  calledGone(above: Incarnation, why: string, now: Instant): void;
  /** A later incarnation of this agent is running. */
  impostor(inc: Incarnation): void;
}

interface OwnLifeParts {
  readonly settings: Pick<CoreSettings, 'id'>;
  readonly outbound: Pick<Outbound, 'inc'>;
  readonly changes: Consequences;
  readonly refused: Pick<RefusedClaims, 'refuse'>;
}

export class OwnLife {
  readonly #p: OwnLifeParts;

  constructor(parts: OwnLifeParts) {
    this.#p = parts;
  }

  /**
   * Whether this incarnation was removed. This agent then takes an incarnation above all known
   * ones: with an empty database, its number may be below those of its earlier runs.
   */
  isOver(against: readonly Said[], news: readonly Said[], now: Instant): boolean {
    const called = this.#highest(against, now);
    if (called < this.#p.outbound.inc) return false;
    const above = Math.max(called, this.#highest(news, now));
    this.#p.changes.calledGone(above, 'removed by others', now);
    return true;
  }

  /** Handles news of a later incarnation: of an earlier run, or of a second process. */
  isLater(inc: Incarnation, joined: boolean, now: Instant): void {
    if (inc <= this.#p.outbound.inc) return;
    if (joined) this.#p.changes.impostor(inc);
    else if (inc <= this.#highestBelieved(now))
      this.#p.changes.calledGone(inc, 'known with a later incarnation', now);
  }

  /** Refuses, and does not act on, what an agent that was never a member reports about this one. */
  hearStranger(id: AgentId, { gone, suspects, news }: Heartbeat, now: Instant): void {
    const { id: me } = this.#p.settings;
    const { inc } = this.#p.outbound;
    const isAgainst = (said: Said) => said.id === me && said.inc >= inc;
    const isTwin = (said: Said) => said.id === me && said.inc > inc;
    if (id === me) return;
    if (![...gone, ...suspects].some(isAgainst) && !news.some(isTwin)) return;
    const why = 'it is not a member, but reports a tombstone or a later incarnation of this agent';
    this.#p.refused.refuse(id, 'news', why, now);
  }

  #highest(all: readonly Said[], now: Instant): Incarnation {
    const max = this.#highestBelieved(now);
    const mine = all.filter(({ id, inc }) => id === this.#p.settings.id && inc <= max);
    return Math.max(0, ...mine.map(({ inc }) => inc));
  }

  #highestBelieved(now: Instant): Incarnation {
    return Math.max(this.#p.outbound.inc, now.wall + AHEAD_MS_MAX);
  }
}
