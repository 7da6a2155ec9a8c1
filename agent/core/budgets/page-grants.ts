// Grants page tokens to all agents (`limits.pages`, adr/0030), at the owner of one name on the ring.
// Pages counted plus tokens granted since are an upper bound of the pages spent. A census asks all
// members for their counts. It is valid if it and the one before found the same view and no host
// being handed over. One is taken when this agent becomes the owner, after the loss of an agent, and
// before the limit is declared reached, so lost tokens are granted again. Nothing is stored.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { View } from '../membership/view.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import type { PagesAsk, PagesGrant } from './page-budget.ts';

export type Counted = Omit<Extract<Message, { type: 'COUNTED' }>, 'type'>;

interface PageGrantsParts {
  readonly settings: Pick<CoreSettings, 'id' | 'heartbeatMs' | 'pagesMax'>;
  readonly view: View;
  readonly viewHash: () => string;
  readonly answer: (asker: AgentId, grant: PagesGrant, now: Instant) => void;
  /** Sends COUNT to a member or to this agent itself. */
  readonly count: (member: AgentId, round: number, now: Instant) => void;
}

/** The counters of one agent in one of its sessions. */
interface Account {
  readonly inc: Incarnation;
  readonly session: number;
  wanted: number;
  granted: number;
  returned: number;
  /** Pages and tokens in its last count that these counters do not include. */
  base: number;
}

interface Census {
  readonly number: number;
  readonly viewHash: string;
  readonly answers: Map<AgentId, Counted>;
  askedAt: number;
}

export class PageGrants {
  readonly #p: PageGrantsParts;
  readonly #accounts = new Map<AgentId, Account>();
  /** Tokens granted to agents that have been removed; they count as spent. */
  #lost = 0;
  /** Nothing is granted before the first census. */
  #counted = false;
  /** There was no census yet, or another may find fewer pages spent. */
  #stale = true;
  #over = false;
  #census: Census | null = null;
  /** The view hash of the previous census if that found no host being handed over. */
  #quietView: string | null = null;
  #nextCensusAt = 0;
  #lastCensus = 0;

  constructor(parts: PageGrantsParts) {
    this.#p = parts;
  }

  /** This agent has become or is no longer the owner, or has a new incarnation. */
  reset(): void {
    this.#accounts.clear();
    this.#lost = 0;
    this.#counted = false;
    this.#stale = true;
    this.#over = false;
    this.#census = null;
    this.#quietView = null;
    this.#nextCensusAt = 0;
  }

  viewChanged(): void {
    this.#census = null;
    this.#quietView = null;
    for (const [id, account] of this.#accounts) {
      if (id === this.#p.settings.id || this.#p.view.get(id)?.card.inc === account.inc) continue;
      this.#close(id, account);
    }
  }

  /** Counts the tokens of an agent or session that has ended as lost until the next census. */
  #close(id: AgentId, { base, granted, returned }: Account): void {
    this.#accounts.delete(id);
    this.#lost += base + granted - returned;
    this.#stale = true;
    this.#over = false;
  }

  onAsk(id: AgentId, inc: Incarnation, ask: Omit<PagesAsk, 'type'>, now: Instant): void {
    const account = this.#accountOf(id, inc, ask, now);
    if (!account) return;
    account.wanted = Math.max(account.wanted, ask.wanted);
    account.returned = Math.max(account.returned, Math.min(ask.returned, account.granted));
    this.#grant(id, account, now);
  }

  /** Null: the message is of an earlier session, or of an unknown one, which is told to restart. */
  #accountOf(
    id: AgentId,
    inc: Incarnation,
    { session, granted }: Pick<PagesAsk, 'session' | 'granted'>,
    now: Instant,
  ): Account | null {
    const known = this.#accounts.get(id);
    if (known?.inc === inc && known.session === session) return known;
    if (known?.inc === inc && known.session > session) return null;
    if (granted > 0) {
      const nothing = { granted: 0, returned: 0, over: false, restart: true };
      this.#p.answer(id, { type: 'PAGES_GRANT', session, ...nothing }, now);
      return null;
    }
    if (known) this.#close(id, known);
    const account = { inc, session, wanted: 0, granted: 0, returned: 0, base: 0 };
    this.#accounts.set(id, account);
    return account;
  }

  #grant(id: AgentId, account: Account, now: Instant): void {
    if (!this.#counted) return;
    const left = this.#p.settings.pagesMax! - this.#spent();
    // Portions shrink near the limit, so that tokens do not lie unused while others wait.
    const portion = Math.max(1, Math.floor(left / (2 * (this.#p.view.size + 1))));
    const more = Math.min(account.wanted - account.granted, portion, left);
    if (more > 0) account.granted += more;
    const { session, granted, returned } = account;
    const over = this.#over;
    this.#p.answer(
      id,
      { type: 'PAGES_GRANT', session, granted, returned, over, restart: false },
      now,
    );
  }

  /** For `status`; null before the first census. */
  get spent(): number | null {
    return this.#counted ? this.#spent() : null;
  }

  /** The upper bound of pages that have ended or may end with granted tokens. */
  #spent(): number {
    let spent = this.#lost;
    for (const { base, granted, returned } of this.#accounts.values()) {
      spent += base + granted - returned;
    }
    return spent;
  }

  pump(now: Instant): void {
    if (!this.#p.view.joined) return;
    if (!this.#needsCount()) {
      this.#census = null;
      return;
    }
    if (this.#census) return this.#askOn(this.#census, now);
    if (now.mono < this.#nextCensusAt) return;
    const number = ++this.#lastCensus;
    const viewHash = this.#p.viewHash();
    this.#census = { number, viewHash, answers: new Map(), askedAt: -Infinity };
    this.#askOn(this.#census, now);
  }

  /** An agent waits, and a census may free tokens or show that the limit is reached. */
  #needsCount(): boolean {
    if (this.#over) return false;
    const left = this.#counted ? this.#p.settings.pagesMax! - this.#spent() : 0;
    if (left > 0 && !this.#stale) return false;
    for (const { wanted, granted } of this.#accounts.values()) if (wanted > granted) return true;
    return false;
  }

  #askOn(census: Census, now: Instant): void {
    if (now.mono - census.askedAt < resendAfterMs(this.#p.settings)) return;
    census.askedAt = now.mono;
    for (const id of this.#voters()) {
      if (!census.answers.has(id)) this.#p.count(id, census.number, now);
    }
  }

  #voters(): AgentId[] {
    return [this.#p.settings.id, ...[...this.#p.view.members()].map(({ card }) => card.id)];
  }

  onCounted(from: AgentId, counted: Counted, now: Instant): void {
    const census = this.#census;
    if (census?.number !== counted.round) return;
    const inc = this.#p.view.get(from)?.card.inc ?? counted.inc;
    const account = this.#accountOf(from, inc, counted, now);
    if (!account) return;
    // The last grant was lost. If the agent needs no more, it will not ask again, so resend it.
    if (counted.granted < account.granted) this.#grant(from, account, now);
    census.answers.set(from, counted);
    if (!this.#voters().every((id) => census.answers.has(id))) return;
    this.#census = null;
    const answers = [...census.answers.values()];
    const quiet = answers.every((a) => a.quiet && a.viewHash === census.viewHash);
    const twice = quiet && this.#quietView === census.viewHash;
    this.#quietView = quiet ? census.viewHash : null;
    // The second census follows the first at once; later ones are spaced out.
    const soon = quiet && !twice;
    this.#nextCensusAt = soon ? now.mono : now.mono + resendAfterMs(this.#p.settings);
    if (twice) this.#take(census.answers, now);
    else this.pump(now);
  }

  #take(answers: ReadonlyMap<AgentId, Counted>, now: Instant): void {
    let pages = 0;
    for (const [id, counted] of answers) {
      const account = this.#accounts.get(id);
      // The agent has begun a new session since; the next census includes it.
      if (account?.session !== counted.session) return;
      pages += counted.pages;
      // Tokens granted but not yet received count as well.
      account.base = counted.pages + counted.held - counted.granted + counted.returned;
      account.returned = Math.max(account.returned, counted.returned);
    }
    this.#lost = 0;
    this.#counted = true;
    this.#stale = false;
    this.#over = pages >= this.#p.settings.pagesMax!;
    for (const [id, account] of this.#accounts) {
      if (account.wanted > account.granted) this.#grant(id, account, now);
    }
  }
}
