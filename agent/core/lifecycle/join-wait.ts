// Warns while this agent cannot join, at growing intervals, and names the agents that it waits for.
// Ends the agent if the wait is hopeless. An agent waits for those whose copies a lost state is
// restored from, and in a partial view for a member that has joined, unless it may begin a cluster
// (docs/OVERLAY.md). Says how it has joined.

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
/** Who begins a cluster after the end of the crawl requests all its pages again. */
const MAY_BE_OVER =
  'if the crawl is over (ubiring status CONFIG where it ran), there is nothing to join';

interface JoinWaitParts {
  readonly settings: Pick<CoreSettings, 'suspectAfterMs' | 'id' | 'address'>;
  readonly view: Pick<View, 'members' | 'size' | 'joined'>;
  readonly overlay: Pick<Overlay, 'isPartial' | 'mayBeFirst' | 'entries'>;
  readonly membership: Pick<Membership, 'awaited' | 'postponedAt'>;
  readonly effects: Effects;
  readonly shutdown: Pick<Shutdown, 'end'>;
}

export class JoinWait implements Part {
  readonly #p: JoinWaitParts;
  #startAt = 0;
  /**
   * The last time at which an agent was in view. Agents that wait together do not end: their
   * contact may be started late, or one of them become a contact because the others are lost.
   */
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

  /**
   * Whether this agent, which knows all that it must know, may join. It ends instead of beginning
   * a second cluster beside running agents of its data directory.
   */
  mayJoin(): boolean {
    const { view, overlay, shutdown } = this.#p;
    if (this.#joinedOnce || view.size > 0 || overlay.entries.local.length === 0) return true;
    shutdown.end(5, this.#secondCluster());
    return false;
  }

  joined(): void {
    const { view, overlay, effects } = this.#p;
    this.#joinedOnce = true;
    this.#warning.end();
    // Without members, nobody can report that the crawl completed while this agent was starting.
    if (view.size === 0) effects.push({ type: 'woke' });
    const isFirst = view.size === 0 && overlay.isPartial;
    const members = `has joined; other agents in view: ${view.size}`;
    effects.push({ type: 'note', message: isFirst ? this.#begins() : members });
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
    this.#metAt = view.size > 0 ? mono : Math.max(this.#metAt, membership.postponedAt);
    const reason = this.#reasonAt(mono);
    this.#warning.goesOn(reason === null ? null : `has not joined: ${reason}`, mono);
    // An agent that has joined before has hosts and pages, and its network may be back later.
    if (this.#joinedOnce || mono - this.#metAt < AWAIT_MS_MAX) return;
    this.#p.shutdown.end(5, `waited ${AWAIT_MS_MAX / 1000} s: ${this.#nobody()}`);
  }

  #reasonAt(mono: number): string | null {
    const members = [...this.#p.view.members()];
    const { postponedAt } = this.#p.membership;
    const isPostponed = mono - postponedAt < this.#p.settings.suspectAfterMs;
    if (isPostponed) return 'so many agents join that it must wait for some of them';
    if (members.length === 0) return this.#nobody();
    // A contact begins a cluster only after S; others join after it.
    const isEarly = mono - this.#startAt < 2 * this.#p.settings.suspectAfterMs;
    if (isEarly || members.some(({ joined }) => joined)) return null;
    const ids = members.map(({ card }) => card.id).sort();
    return (
      `${ids.join(', ')} ${ids.length === 1 ? 'waits' : 'wait'}, too: only a contact begins a ` +
      `cluster; ${MAY_BE_OVER}; otherwise start one of ${this.#contacts()}; if none can be ` +
      'started, add the address of one agent that waits to cluster.contacts, and restart that agent'
    );
  }

  #begins(): string {
    const { contacts, others } = this.#p.overlay.entries;
    const asked = [...contacts, ...(others.length > 0 ? [addresses(others.length, 'known')] : [])];
    const why = [
      ...(contacts.length === 0 ? ['its own address is the only contact'] : []),
      ...(asked.length > 0 ? [`no agent answers at ${asked.join(', ')}`] : []),
    ];
    return (
      `begins a new cluster: ${why.join(', and ')}; if agents of this crawl run elsewhere, stop ` +
      'this agent, add the address of one of them to cluster.contacts, and start it again'
    );
  }

  #secondCluster(): string {
    const { local } = this.#p.overlay.entries;
    const ids = local.map(({ id }) => id).join(', ');
    return (
      `would begin a second cluster: ${ids} ${local.length === 1 ? 'runs' : 'run'} in the same ` +
      `data directory without an answer; end ${local.length === 1 ? 'it' : 'them'} (ubiring kill ` +
      'CONFIG ID), then start this agent again'
    );
  }

  #nobody(): string {
    const { others: asked, namesake } = this.#p.overlay.entries;
    if (namesake !== null) return this.#answersAs(namesake);
    const others = asked.length === 0 ? '' : `, nor at ${addresses(asked.length, 'other known')}`;
    return (
      `no agent answers at ${this.#contacts()}${others}: start one of these contacts, or correct ` +
      `cluster.contacts, for example if another program listens there; ${MAY_BE_OVER}`
    );
  }

  /** An agent with the identifier of this one cannot let it join. */
  #answersAs(namesake: string): string {
    const { id, address } = this.#p.settings;
    if (namesake === address) {
      return (
        `one of the contacts ${this.#contacts()} is this agent itself: write its address in ` +
        `cluster.contacts as ${address}, and start it again`
      );
    }
    return (
      `another agent ${id} runs at ${namesake}: stop that one, or start this one with another ` +
      'identifier (--id)'
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
      'restored from their copies: start all agents together (ubiring launch CONFIG --repair or, ' +
      'with cluster.contacts alone, ubiring agent CONFIG --id ID --repair; on each machine)';
    this.#p.shutdown.end(5, reason);
  }
}

function addresses(count: number, what: string): string {
  return `${count} ${what} ${count === 1 ? 'address' : 'addresses'}`;
}
