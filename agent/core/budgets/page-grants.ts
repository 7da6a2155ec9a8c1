// Grants page tokens to all agents (`limits.pages`, adr/0030), at the owner of one name of the
// preference lists. Each census begins an epoch. It finds the pages of all agents, and the tokens
// that they had when they learned of the epoch. With the tokens granted in the epoch this is an upper
// bound of the pages spent. Tokens of agents that are gone are not found, so they are granted again.
// A census is taken when this agent becomes the owner, after the loss of a member, and before the
// limit is declared reached. Nothing is stored.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { PageCount } from '../membership/overlay.ts';
import type { View } from '../membership/view.ts';
import type { AgentId, Incarnation } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import { type Epoch, isLater, NO_EPOCH, nextEpoch } from './epoch.ts';
import type { PagesAsk, PagesGrant } from './page-budget.ts';

interface PageGrantsParts {
  readonly settings: Pick<CoreSettings, 'id' | 'heartbeatMs' | 'pagesMax'>;
  readonly view: Pick<View, 'size' | 'joined' | 'get'>;
  readonly inc: () => Incarnation;
  /** Whether the agents that ask are members. */
  readonly knowsAll: boolean;
  readonly answer: (asker: AgentId, grant: PagesGrant, now: Instant) => void;
  /** An epoch of this agent begins. */
  readonly begin: (epoch: Epoch) => void;
  /** Called until the census of the epoch is complete; null: it is not yet. */
  readonly census: (epoch: Epoch, now: Instant) => PageCount | null;
}

/** The counters of one agent in this epoch. */
interface Account {
  readonly inc: Incarnation;
  wanted: number;
  granted: number;
  returned: number;
}

export class PageGrants {
  readonly #p: PageGrantsParts;
  readonly #accounts = new Map<AgentId, Account>();
  /** The latest epoch that is known, of this owner or an earlier one. */
  #epoch: Epoch = NO_EPOCH;
  /** Upper bound of the pages and tokens that the accounts do not have; null: before a census. */
  #base: number | null = null;
  /** Another census may find fewer pages spent. */
  #stale = false;
  /** An agent waits whose account is of another epoch. */
  #isAsked = false;
  #over = false;
  #isCounting = false;
  #nextCensusAt = 0;

  constructor(parts: PageGrantsParts) {
    this.#p = parts;
  }

  /** This agent has become or is no longer the owner, or has a new incarnation. */
  reset(): void {
    this.#accounts.clear();
    this.#base = null;
    this.#stale = false;
    this.#isAsked = false;
    this.#over = false;
    this.#isCounting = false;
    this.#nextCensusAt = 0;
  }

  viewChanged(): void {
    if (!this.#p.knowsAll) return;
    for (const [id, account] of this.#accounts) {
      const isHere = id === this.#p.settings.id || this.#p.view.get(id)?.card.inc === account.inc;
      if (isHere || tokensOf(account) === 0) continue;
      this.#stale = true;
      this.#over = false;
    }
  }

  /** A member knows an epoch. */
  heard(epoch: Epoch): void {
    if (!isLater(epoch, this.#epoch)) return;
    this.reset();
    this.#epoch = epoch;
  }

  onAsk(id: AgentId, inc: Incarnation, ask: Omit<PagesAsk, 'type'>, now: Instant): void {
    if (this.#base === null || ask.epoch !== this.#epoch) {
      this.#isAsked = true;
      if (this.#isMine()) this.#tell(id, { granted: 0, returned: 0 }, now);
      return;
    }
    const account = this.#accountOf(id, inc);
    account.wanted = Math.max(account.wanted, ask.wanted);
    account.returned = Math.max(account.returned, ask.returned);
    this.#grant(id, account, now);
  }

  #isMine(): boolean {
    return this.#isCounting || this.#base !== null;
  }

  #accountOf(id: AgentId, inc: Incarnation): Account {
    const known = this.#accounts.get(id);
    if (known?.inc === inc) return known;
    // The tokens of the earlier incarnation count as spent until the next census.
    if (known) this.#base! += tokensOf(known);
    const account = { inc, wanted: 0, granted: 0, returned: 0 };
    this.#accounts.set(id, account);
    return account;
  }

  #grant(id: AgentId, account: Account, now: Instant): void {
    const left = this.#p.settings.pagesMax! - this.spent!;
    const agents = Math.max(this.#p.view.size + 1, this.#accounts.size);
    // Portions shrink near the limit, so that tokens do not lie unused while others wait.
    const portion = Math.max(1, Math.floor(left / (2 * agents)));
    const more = Math.min(account.wanted - account.granted, portion, left);
    if (more > 0) account.granted += more;
    this.#tell(id, account, now);
  }

  #tell(id: AgentId, account: Pick<Account, 'granted' | 'returned'>, now: Instant): void {
    const { granted, returned } = account;
    const [epoch, over] = [this.#epoch, this.#over];
    this.#p.answer(id, { type: 'PAGES_GRANT', epoch, granted, returned, over }, now);
  }

  /**
   * The upper bound of pages that have ended or may end with granted tokens; null before the first
   * census.
   */
  get spent(): number | null {
    if (this.#base === null) return null;
    let spent = this.#base;
    for (const account of this.#accounts.values()) spent += tokensOf(account);
    return spent;
  }

  pump(now: Instant): void {
    if (!this.#p.view.joined) return;
    if (!this.#isCounting) {
      if (now.mono < this.#nextCensusAt || !this.#needsCensus()) return;
      this.#begin();
    }
    const count = this.#p.census(this.#epoch, now);
    if (count) this.#take(count, now);
  }

  /** An agent waits, and a census may free tokens or show that the limit is reached. */
  #needsCensus(): boolean {
    const { spent } = this;
    if (spent === null) return this.#isAsked;
    if (this.#over || (spent < this.#p.settings.pagesMax! && !this.#stale)) return false;
    return [...this.#accounts.values()].some(({ wanted, granted }) => wanted > granted);
  }

  #begin(): void {
    const { settings, inc } = this.#p;
    // Until the census is complete, all tokens granted before count as spent.
    this.#base = this.spent;
    this.#accounts.clear();
    this.#epoch = nextEpoch(this.#epoch, settings.id, inc());
    this.#isCounting = true;
    this.#stale = false;
    this.#p.begin(this.#epoch);
  }

  #take({ base, pages }: PageCount, now: Instant): void {
    this.#isCounting = false;
    this.#isAsked = false;
    this.#nextCensusAt = now.mono + resendAfterMs(this.#p.settings);
    this.#base = base;
    this.#over = pages >= this.#p.settings.pagesMax!;
    for (const [id, account] of this.#accounts) {
      if (account.wanted > account.granted) this.#grant(id, account, now);
    }
  }
}

/**
 * The tokens of an agent at most. It may have returned tokens of an earlier epoch, too. They count
 * until the next census, because this one may not have found the agent.
 */
function tokensOf({ granted, returned }: Account): number {
  return Math.max(0, granted - returned);
}
