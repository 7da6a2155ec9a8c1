// Warns while this agent cannot join, at growing intervals, and names the agents that it waits for.
// Ends the agent if the wait is hopeless. An agent waits for those whose copies a lost state is restored from, and
// in a partial view for a member that has joined, unless it may begin a cluster (docs/OVERLAY.md).

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Membership } from '../membership/membership.ts';
import type { Overlay } from '../membership/overlay.ts';
import type { View } from '../membership/view.ts';
import type { Effects } from '../protocol/effects.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Shutdown } from './shutdown.ts';
import { WaitWarning } from './wait-warning.ts';

/** Milliseconds that a start waits for agents it must meet; they may be started one by one. */
const AWAIT_MS_MAX = 60_000;

interface JoinWaitParts {
  readonly settings: Pick<CoreSettings, 'suspectAfterMs'>;
  readonly view: Pick<View, 'members' | 'size' | 'joined'>;
  readonly overlay: Pick<Overlay, 'mayBeFirst' | 'entries'>;
  readonly membership: Pick<Membership, 'awaited'>;
  readonly effects: Effects;
  readonly shutdown: Pick<Shutdown, 'end'>;
}

export class JoinWait implements Part {
  readonly #p: JoinWaitParts;
  #startAt = 0;
  /** The last time at which an agent was in view. */
  #metAt = 0;
  #joinedOnce = false;
  readonly #warning: WaitWarning;

  constructor(parts: JoinWaitParts) {
    this.#p = parts;
    this.#warning = new WaitWarning(parts.effects, parts.settings.suspectAfterMs);
  }

  reset(now: Instant): void {
    this.#startAt = now.mono;
    this.#metAt = now.mono;
    this.#warning.begin(now.mono);
  }

  joined(): void {
    this.#joinedOnce = true;
    this.#warning.end();
  }

  /** Why this agent has not joined; null: it has, or it has not waited for long. */
  get reason(): string | null {
    return this.#warning.reason;
  }

  /** Called in each turn in which this agent cannot join. */
  goesOn({ mono }: Instant): void {
    const { view, overlay, membership } = this.#p;
    this.#endForlorn(membership.awaited, mono - this.#startAt);
    if (overlay.mayBeFirst) return;
    if (view.size > 0) this.#metAt = mono;
    const reason = this.#reasonAt(mono);
    this.#warning.goesOn(reason === null ? null : `has not joined: ${reason}`, mono);
    // An agent that has joined before has hosts and pages, and its network may be back later.
    if (this.#joinedOnce || mono - this.#metAt < AWAIT_MS_MAX) return;
    this.#p.shutdown.end(5, `waited ${AWAIT_MS_MAX / 1000} s: ${this.#nobody()}`);
  }

  #reasonAt(mono: number): string | null {
    const members = [...this.#p.view.members()];
    if (members.length === 0) return this.#nobody();
    // A contact begins a cluster only after S; others join after it.
    const isEarly = mono - this.#startAt < 2 * this.#p.settings.suspectAfterMs;
    if (isEarly || members.some(({ joined }) => joined)) return null;
    const ids = members.map(({ card }) => card.id).sort();
    return (
      `${ids.join(', ')} ${ids.length === 1 ? 'waits' : 'wait'}, too: only a contact begins a ` +
      `cluster; start one of ${this.#contacts()}`
    );
  }

  #nobody(): string {
    const { length } = this.#p.overlay.entries.earlier;
    const earlier = length === 0 ? '' : `, nor at ${length} known from an earlier run`;
    return (
      `no agent answers at ${this.#contacts()}${earlier}: start one of these contacts, or correct ` +
      'cluster.contacts; if the crawl is over (ubiring status CONFIG), there is nothing to join'
    );
  }

  #contacts(): string {
    return this.#p.overlay.entries.contacts.join(', ');
  }

  /** Ends the process if awaited agents stay away: without them no lost state can be restored. */
  #endForlorn(missing: Membership['awaited'], waitedMs: number): void {
    if (missing.length === 0 || waitedMs < AWAIT_MS_MAX) return;
    const reason =
      `${missing.join(', ')} did not join within ${AWAIT_MS_MAX / 1000} s, but a state must be ` +
      'restored from their copies: start all agents together (ubiring launch CONFIG --repair, on ' +
      'each machine)';
    this.#p.shutdown.end(5, reason);
  }
}
