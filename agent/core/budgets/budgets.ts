// What the whole cluster shares in the web: the rest of each address (`politeness.ipDelayMs`) and the
// pages of the crawl (`limits.pages`). Each budget is a name on the ring, and whoever owns it grants
// from it. This file joins the asking and the granting sides and carries their messages; one to
// this agent itself takes no wire. Where the config sets no budget, nothing here says or does
// anything. The core calls it; the visits ask before each request.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { Member, View } from '../membership/view.ts';
import type { Effects } from '../protocol/effects.ts';
import type { AgentId, Host, Incarnation, Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import { AddressPermits } from './address-permits.ts';
import { PAGES_NAME, PageBudget, type PagesAsk, type PagesGrant } from './page-budget.ts';
import { PageGrants } from './page-grants.ts';
import { type PermitAsk, type PermitEnd, type PermitGrant, PermitGrants } from './permit-grants.ts';

type Count = Extract<Message, { type: 'COUNT' }>;
type Counted = Extract<Message, { type: 'COUNTED' }>;
export type BudgetMessage =
  | PermitAsk
  | PermitGrant
  | PermitEnd
  | PagesAsk
  | PagesGrant
  | Count
  | Counted;

const OF_BUDGETS: Readonly<Record<BudgetMessage['type'], true>> = {
  SLOT_ASK: true,
  SLOT_GRANT: true,
  SLOT_END: true,
  PAGES_ASK: true,
  PAGES_GRANT: true,
  COUNT: true,
  COUNTED: true,
};

export function isOfBudgets(message: Message): message is BudgetMessage {
  return message.type in OF_BUDGETS;
}

export interface BudgetsParts {
  readonly settings: CoreSettings;
  readonly view: View;
  readonly effects: Effects;
  readonly outbound: Outbound;
  readonly leaseLeftMs: (name: string, now: Instant) => number;
  /** Nobody owes this agent a list. */
  readonly listed: () => boolean;
  /**
   * No host is on its way from or to this agent, none is to be queued again, and no member is known
   * to lack the round: its pages would be those of the round before.
   */
  readonly quiet: () => boolean;
  /** Of this agent's hosts. */
  readonly pages: () => number;
  readonly visits: {
    wake(host: Host): void;
    recheck(host: Host, now: Instant): void;
    recheckAll(now: Instant): void;
  };
}

/** What the cluster shares (adr/0030), as one agent has it; null where there is no bound. */
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
    /** Addresses in use or at rest whose permits this agent grants, and how many of these it has. */
    readonly owned: number;
    readonly granted: number;
    /** Permits with which this agent has requests open, and hosts of its own that wait for one. */
    readonly used: number;
    readonly hostsWaiting: number;
  } | null;
}

export class Budgets {
  /** Null where addresses need no rest. */
  readonly permits: AddressPermits | null;
  /** Null where there is no limit. */
  readonly pages: PageBudget | null;
  readonly #p: BudgetsParts;
  readonly #permitGrants: PermitGrants;
  readonly #pageGrants: PageGrants;
  #ownsPages = false;

  constructor(parts: BudgetsParts) {
    this.#p = parts;
    const { settings, view, effects, outbound, visits, listed, leaseLeftMs } = parts;
    const inc = (): Incarnation => outbound.inc;
    const recheck = (host: Host, now: Instant) => visits.recheck(host, now);
    const tell = (to: AgentId, message: BudgetMessage, now: Instant) =>
      this.#tell(to, message, now);
    const wake = (host: Host) => visits.wake(host);
    const { ipDelayMs, pagesMax } = settings;
    this.permits =
      ipDelayMs > 0
        ? new AddressPermits({ settings, view, effects, inc, tell, recheck: recheck, wake })
        : null;
    this.#permitGrants = new PermitGrants({
      ...{ settings, view, leaseLeftMs },
      isSettledIn: () => view.joined && listed(),
      isHere: ({ id, inc: theirs }) =>
        theirs === (id === settings.id ? inc() : view.get(id)?.card.inc),
      answer: ({ id }, grant, now) => tell(id, grant, now),
    });
    const reached = (now: Instant) => visits.recheckAll(now);
    this.pages =
      pagesMax === null
        ? null
        : new PageBudget({ settings, view, inc, tell, recheck: recheck, reached });
    this.#pageGrants = new PageGrants({
      ...{ settings, view },
      viewHash: () => view.hash(outbound.inc),
      answer: tell,
      count: (id, round, now) => tell(id, { type: 'COUNT', round }, now),
    });
  }

  /** Another incarnation of this agent. */
  reset(now: Instant): void {
    this.#permitGrants.reset(now);
    this.#pageGrants.reset();
    this.#ownsPages = false;
  }

  /** Somebody was removed: what it granted is over, and its addresses have yet to rest. */
  removed(now: Instant): void {
    if (this.permits) this.#permitGrants.quiet(now.mono + this.#p.settings.ipDelayMs);
  }

  viewChanged(now: Instant): void {
    const { view } = this.#p;
    this.permits?.keepOnly((host) => view.owns(host), now);
    this.#permitGrants.viewChanged();
    this.#pageGrants.viewChanged();
  }

  /** For a list: how long the others have to leave addresses alone that this agent knows of. */
  permitsMs(now: Instant): number {
    if (!this.permits) return 0;
    return Math.ceil(Math.max(this.permits.busyMs(now), this.#permitGrants.busyMs(now)));
  }

  /** A list has come that says so. */
  listSays(slotsMs: number | undefined, now: Instant): void {
    if (this.permits && slotsMs) this.#permitGrants.restAll(now.mono + slotsMs);
  }

  pump(now: Instant): void {
    if (this.permits) {
      this.permits.pump(now);
      this.#permitGrants.pump(now);
    }
    if (!this.pages) return;
    const owns = this.#p.view.owns(PAGES_NAME);
    if (owns !== this.#ownsPages) this.#pageGrants.reset();
    this.#ownsPages = owns;
    if (this.#p.view.joined) this.pages.pump(now);
    if (owns) this.#pageGrants.pump(now);
  }

  nextAtMs(now: Instant): number {
    if (!this.permits) return Infinity;
    return Math.min(this.permits.nextAtMs(now), this.#permitGrants.nextAtMs());
  }

  snapshot(): BudgetsSnapshot {
    const { pagesMax, ipDelayMs } = this.#p.settings;
    const { pages, permits } = this;
    return {
      pages: pages && {
        limit: pagesMax!,
        tokens: pages.held,
        hostsWaiting: pages.hostsWaiting,
        reached: pages.over,
        spent: this.#ownsPages ? this.#pageGrants.spent : null,
      },
      addresses: permits && {
        delayMs: ipDelayMs,
        ...this.#permitGrants.counts(),
        ...permits.counts(),
      },
    };
  }

  #tell(to: AgentId, message: BudgetMessage, now: Instant): void {
    const { settings, view, outbound } = this.#p;
    if (to === settings.id) return this.onMessage({ id: to, inc: outbound.inc }, message, now);
    const member = view.get(to);
    if (member) outbound.toMember(member, message);
  }

  /** From a member of the view, or from this agent itself. */
  onMessage(from: Member['card'] | Self, message: BudgetMessage, now: Instant): void {
    const { id, inc } = from;
    const ownsPages = this.#ownsPages && this.#p.view.owns(PAGES_NAME);
    switch (message.type) {
      case 'SLOT_ASK':
        if (this.permits) this.#permitGrants.onAsk(from, message, now);
        return;
      case 'SLOT_END':
        return this.#permitGrants.onEnd(from, message, now);
      case 'SLOT_GRANT':
        return this.permits?.onGrant(id, message, now);
      case 'PAGES_ASK':
        if (ownsPages) this.#pageGrants.onAsk(id, inc, message, now);
        return;
      case 'PAGES_GRANT':
        return this.pages?.onGrant(id, message, now);
      case 'COUNT':
        return this.#answerCount(id, message.round, now);
      case 'COUNTED':
        if (ownsPages) this.#pageGrants.onCounted(id, message, now);
    }
  }

  #answerCount(owner: AgentId, round: number, now: Instant): void {
    const { view, outbound, quiet, pages } = this.#p;
    if (!this.pages) return;
    const isOwner = view.owner(PAGES_NAME) === owner;
    this.pages.turnTo(view.owner(PAGES_NAME));
    const { inc } = outbound;
    const state = { inc, viewHash: view.hash(inc), quiet: view.joined && isOwner && quiet() };
    const counts = { pages: pages(), held: this.pages.held, ...this.pages.account() };
    this.#tell(owner, { type: 'COUNTED', round, ...state, ...counts }, now);
  }
}

type Self = Pick<Member['card'], 'id' | 'inc'>;
