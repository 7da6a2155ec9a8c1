// Limits that the whole cluster shares: the delay between requests to one address
// (`politeness.ipDelayMs`) and the pages of the crawl (`limits.pages`). Each limit is a name on the
// preference lists, and the owner of the name grants from it (adr/0030). This file connects the requesting and
// the granting sides and carries their messages, within this agent without the network.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import { type Overlay, PAGES_NAME } from '../membership/overlay.ts';
import type { View } from '../membership/view.ts';
import type { Effects } from '../protocol/effects.ts';
import type { AgentId, Host, MemberCard, Message } from '../protocol/messages.ts';
import type { PagesState } from '../protocol/overlay-messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import { AddressPermits } from './address-permits.ts';
import { type Epoch, NO_EPOCH } from './epoch.ts';
import { PageBudget, type PagesAsk, type PagesGrant } from './page-budget.ts';
import { PageCensus } from './page-census.ts';
import { PageGrants } from './page-grants.ts';
import {
  type Asker,
  type PermitAsk,
  type PermitEnd,
  type PermitGrant,
  PermitGrants,
} from './permit-grants.ts';

type Count = Extract<Message, { type: 'COUNT' }>;
type Census = Count | Extract<Message, { type: 'COUNTED' }>;
type BudgetMessage = PermitAsk | PermitGrant | PermitEnd | PagesAsk | PagesGrant | Census;

interface BudgetsParts {
  readonly settings: CoreSettings;
  readonly view: View;
  readonly overlay: Pick<Overlay, 'isPartial' | 'find' | 'notThere' | 'met' | 'tree'>;
  readonly effects: Effects;
  readonly outbound: Outbound;
  readonly leaseLeftMs: (name: string, now: Instant) => number;
  /** No agent owes this agent a list. */
  readonly listed: () => boolean;
  /**
   * No host is being handed over or waits to be requeued, and no member is known to lack the current
   * round. Such a member would count the pages of the previous round.
   */
  readonly quiet: () => boolean;
  /** The number of pages of this agent's hosts that have ended. */
  readonly pages: () => number;
  /** The round of the crawl. */
  readonly round: () => number;
  readonly visits: {
    wake(host: Host): void;
    recheck(host: Host, now: Instant): void;
    recheckAll(now: Instant): void;
  };
}

/** The shared limits as one agent sees them; null: the limit is not configured. */
export interface BudgetsSnapshot {
  readonly pages: {
    /** `limits.pages` */
    readonly limit: number;
    /** Tokens of this agent that may still become pages: in stock or with open requests. */
    readonly tokens: number;
    readonly hostsWaiting: number;
    /** The granting agent reports that the limit is reached; all queued pages end. */
    readonly reached: boolean;
    /** At the granting agent: pages counted, plus tokens granted since. Null at the others. */
    readonly spent: number | null;
  } | null;
  readonly addresses: {
    /** `politeness.ipDelayMs` */
    readonly delayMs: number;
    /** Addresses in use or cooldown for which this agent grants; those with a permit granted. */
    readonly owned: number;
    readonly granted: number;
    /** Permits that requests of this agent use, and hosts of this agent that wait for one. */
    readonly used: number;
    readonly hostsWaiting: number;
  } | null;
}

export class Budgets {
  /** Null: no delay between requests to one address. */
  readonly permits: AddressPermits | null;
  /** Null: no page limit. */
  readonly pages: PageBudget | null;
  readonly #p: BudgetsParts;
  readonly #permitGrants: PermitGrants;
  readonly #pageGrants: PageGrants;
  readonly #pageCensus: PageCensus;
  /** Number of changes of the view. */
  #changes = 0;
  #ownsPages = false;

  constructor(parts: BudgetsParts) {
    this.#p = parts;
    const { settings, view, overlay, effects, outbound, visits, listed, leaseLeftMs } = parts;
    const tell = (to: AgentId, message: BudgetMessage, now: Instant) =>
      this.#tell(to, message, now);
    const ownerOf = (name: string) => this.#ownerOf(name);
    const notOwner = (name: string) => overlay.notThere(name);
    const inc = () => outbound.inc;
    const recheck = (host: Host, now: Instant) => visits.recheck(host, now);
    const wake = (host: Host) => visits.wake(host);
    const reached = (now: Instant) => visits.recheckAll(now);
    this.permits =
      settings.ipDelayMs > 0
        ? new AddressPermits({
            ...{ settings, effects, ownerOf, notOwner, recheck, wake },
            tell: ({ id }, message, now) => tell(id, message, now),
          })
        : null;
    this.pages =
      settings.pagesMax === null
        ? null
        : new PageBudget({
            ...{ settings, tell, recheck, reached },
            owner: () => ownerOf(PAGES_NAME),
            notOwner: () => notOwner(PAGES_NAME),
          });
    this.#permitGrants = new PermitGrants({
      settings,
      view,
      leaseLeftMs,
      isSettledIn: () => view.joined && listed(),
      refuses: overlay.isPartial,
      isHere: ({ id, inc }) => inc === (id === settings.id ? outbound.inc : this.#cardOf(id)?.inc),
      answer: ({ id }, grant, now) => tell(id, grant, now),
    });
    this.#pageGrants = new PageGrants({
      settings,
      view,
      inc,
      knowsAll: !overlay.isPartial,
      answer: tell,
      begin: (epoch) => this.pages?.begin(epoch),
      census: (epoch, now) =>
        overlay.isPartial ? overlay.tree.census(epoch) : this.#pageCensus.take(epoch, now),
    });
    this.#pageCensus = new PageCensus({
      settings,
      view,
      viewHash: () => view.hash(outbound.inc),
      count: (id, epoch, round, now) => tell(id, { type: 'COUNT', epoch, round }, now),
    });
  }

  /** Called when this agent takes another incarnation. */
  reset(now: Instant): void {
    this.#permitGrants.reset(now);
    this.pages?.reset();
    this.#pageGrants.reset();
    this.#ownsPages = false;
  }

  /** A member was removed. Its grants are over, but its addresses must wait one delay. */
  removed(now: Instant): void {
    if (this.permits) this.#permitGrants.quiet(now.mono + this.#p.settings.ipDelayMs);
  }

  viewChanged(now: Instant): void {
    const { view } = this.#p;
    this.permits?.keepOnly((host) => view.owns(host), now);
    this.#permitGrants.viewChanged();
    this.#pageGrants.viewChanged();
    this.#pageCensus.viewChanged();
    this.#changes++;
  }

  /** For a LIST: milliseconds for which addresses may be in use or cooldown, as far as known here. */
  permitsMs(now: Instant): number {
    if (!this.permits) return 0;
    return Math.ceil(Math.max(this.permits.busyMs(now), this.#permitGrants.busyMs(now)));
  }

  /** Handles the `slotsMs` of a received LIST. */
  listSays(slotsMs: number | undefined, now: Instant): void {
    if (this.permits && slotsMs) this.#permitGrants.restAll(now.mono + slotsMs);
  }

  pump(now: Instant): void {
    if (this.permits) {
      this.permits.pump(now);
      this.#permitGrants.pump(now);
    }
    if (!this.pages) return;
    const { askedEpoch } = this.#p.overlay.tree;
    if (askedEpoch !== null) this.heard(askedEpoch);
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
    const { settings, outbound } = this.#p;
    if (to === settings.id) return this.onMessage({ id: to, inc: outbound.inc }, message, now);
    const card = this.#cardOf(to);
    if (card) outbound.toCard(card, message);
  }

  /** A member, or an agent outside the view that has sent a message. */
  #cardOf(id: AgentId): MemberCard | null {
    return this.#p.view.get(id)?.card ?? this.#p.overlay.met(id);
  }

  /** In a partial view, the owner may have to be looked for. */
  #ownerOf(name: string): Asker | null {
    const { settings, view, overlay, outbound } = this.#p;
    const id = view.owner(name);
    if (id === settings.id) return { id, inc: outbound.inc };
    return id === undefined ? overlay.find(name) : (view.get(id)?.card ?? null);
  }

  /** From an agent that the gate admits, or from this agent itself. */
  onMessage(from: Asker, message: BudgetMessage, now: Instant): void {
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
        if (!ownsPages) return this.#denyOwner(id, now);
        // This agent learns of epochs from its members; any agent may ask.
        if (this.#p.view.get(id)) this.#pageGrants.heard(message.epoch);
        return this.#pageGrants.onAsk(id, inc, message, now);
      case 'PAGES_GRANT':
        return this.pages?.onGrant(id, message, now);
      case 'COUNT':
        return this.#answerCount(id, message, now);
      case 'COUNTED':
        if (!ownsPages) return;
        this.#pageGrants.heard(message.epoch);
        return this.#pageCensus.onCounted(id, message, now);
    }
  }

  /** In a partial view, the asker may have found this agent by an old look-up. */
  #denyOwner(asker: AgentId, now: Instant): void {
    if (!this.#p.overlay.isPartial) return;
    const nothing = { epoch: NO_EPOCH, granted: 0, returned: 0, over: false };
    this.#tell(asker, { type: 'PAGES_GRANT', ...nothing }, now);
  }

  /** The heartbeat of a member, or a leader of subtrees, names an epoch. */
  heard(epoch: Epoch): void {
    // Tokens of an incarnation that has ended must not enter the epoch.
    if (this.pages && (this.pages.held === 0 || this.pages.epoch !== NO_EPOCH))
      this.pages.begin(epoch);
    this.#pageGrants.heard(epoch);
  }

  /** For a heartbeat, if the page limit needs it. */
  aboutPages(): { readonly pages?: PagesState } {
    if (!this.pages || !this.#p.overlay.isPartial) return {};
    const { view, quiet, round } = this.#p;
    const { epoch } = this.pages;
    const pages = this.#p.pages();
    const counts = { epoch, pages, base: this.pages.baseOf(pages) };
    const state = { quiet: view.joined && quiet(), changes: this.#changes, round: round() };
    return { pages: { ...counts, ...state } };
  }

  #answerCount(owner: AgentId, { epoch, round }: Count, now: Instant): void {
    const { view, outbound, quiet } = this.#p;
    if (!this.pages) return;
    this.pages.begin(epoch);
    const pages = this.#p.pages();
    const isOwner = view.owner(PAGES_NAME) === owner;
    const state = { viewHash: view.hash(outbound.inc), quiet: view.joined && isOwner && quiet() };
    const counts = { epoch: this.pages.epoch, pages, base: this.pages.baseOf(pages) };
    this.#tell(owner, { type: 'COUNTED', round, ...state, ...counts }, now);
  }
}
