// The owner's side of the crawl's page limit (`limits.pages`): one agent, the owner of a name on the
// ring, grants tokens to all. What may have been spent is bounded from above at any time: pages
// counted plus tokens granted since. The count is asked of all members, and taken where two rounds
// in a row find the same view and no host on its way; it is taken when this agent becomes the
// owner, after a loss, and before it says that the limit is reached, so that tokens which went down
// with an agent are granted again. Nothing is stored. `page-budget.ts` asks (adr/0030).

import type { Instant } from '../../../failure-detector/instant.ts';
import type { View } from '../membership/view.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import type { PagesAsk, PagesGrant } from './page-budget.ts';

export type Counted = Omit<Extract<Message, { type: 'COUNTED' }>, 'type'>;

export interface PageGrantsParts {
  readonly settings: Pick<CoreSettings, 'id' | 'heartbeatMs' | 'pagesMax'>;
  readonly view: View;
  readonly viewHash: () => string;
  readonly answer: (asker: AgentId, grant: PagesGrant, now: Instant) => void;
  /** Asks a member, or this agent itself, to count. */
  readonly count: (member: AgentId, round: number, now: Instant) => void;
}

/** What one agent was granted in one session of its counters. */
interface Account {
  readonly inc: Incarnation;
  readonly session: number;
  wanted: number;
  granted: number;
  returned: number;
  /** Pages and tokens that its last count had beyond these counters. */
  base: number;
}

interface Round {
  readonly number: number;
  readonly viewHash: string;
  readonly answers: Map<AgentId, Counted>;
  askedAt: number;
}

export class PageGrants {
  readonly #p: PageGrantsParts;
  readonly #accounts = new Map<AgentId, Account>();
  /** What was granted to agents that are gone: spent, for all that is known. */
  #lost = 0;
  /** Nothing is granted before the first count. */
  #counted = false;
  /** A count would find less spent, or has never been taken. */
  #stale = true;
  #over = false;
  #round: Round | null = null;
  /** The view of the round before, where that found no host on its way. */
  #quietView: string | null = null;
  #nextRoundAt = 0;
  #lastRound = 0;

  constructor(parts: PageGrantsParts) {
    this.#p = parts;
  }

  /** This agent is not the owner, or not the same incarnation any more. */
  reset(): void {
    this.#accounts.clear();
    this.#lost = 0;
    this.#counted = false;
    this.#stale = true;
    this.#over = false;
    this.#round = null;
    this.#quietView = null;
    this.#nextRoundAt = 0;
  }

  viewChanged(): void {
    this.#round = null;
    this.#quietView = null;
    for (const [id, account] of this.#accounts) {
      if (id === this.#p.settings.id || this.#p.view.get(id)?.card.inc === account.inc) continue;
      this.#close(id, account);
    }
  }

  /** What an agent was granted and cannot be heard of any more is lost until the next count. */
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

  /** Null where the agent counts on from what this owner knows nothing of: it has to begin anew. */
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
    // The nearer the end, the smaller the portions, so that none sit idle while others wait.
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

  /** For `status`; null before the first count. */
  get spent(): number | null {
    return this.#counted ? this.#spent() : null;
  }

  /** No fewer pages than this have ended or may end with the tokens that are out. */
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
      this.#round = null;
      return;
    }
    if (this.#round) return this.#askOn(this.#round, now);
    if (now.mono < this.#nextRoundAt) return;
    const number = ++this.#lastRound;
    const viewHash = this.#p.viewHash();
    this.#round = { number, viewHash, answers: new Map(), askedAt: -Infinity };
    this.#askOn(this.#round, now);
  }

  /** Somebody waits, and there may be more to give, or it must be said that there is not. */
  #needsCount(): boolean {
    if (this.#over) return false;
    const left = this.#counted ? this.#p.settings.pagesMax! - this.#spent() : 0;
    if (left > 0 && !this.#stale) return false;
    for (const { wanted, granted } of this.#accounts.values()) if (wanted > granted) return true;
    return false;
  }

  #askOn(round: Round, now: Instant): void {
    if (now.mono - round.askedAt < resendAfterMs(this.#p.settings)) return;
    round.askedAt = now.mono;
    const unheard = this.#voters().filter((id) => !round.answers.has(id));
    for (const id of unheard) this.#p.count(id, round.number, now);
  }

  #voters(): AgentId[] {
    return [this.#p.settings.id, ...[...this.#p.view.members()].map(({ card }) => card.id)];
  }

  onCounted(from: AgentId, counted: Counted, now: Instant): void {
    const round = this.#round;
    if (round?.number !== counted.round) return;
    const inc = this.#p.view.get(from)?.card.inc ?? counted.inc;
    const account = this.#accountOf(from, inc, counted, now);
    if (!account) return;
    // Its last grant was lost, and who needs no more does not ask: others wait for those tokens.
    if (counted.granted < account.granted) this.#grant(from, account, now);
    round.answers.set(from, counted);
    if (!this.#voters().every((id) => round.answers.has(id))) return;
    this.#round = null;
    const answers = [...round.answers.values()];
    const quiet = answers.every((a) => a.quiet && a.viewHash === round.viewHash);
    const twice = quiet && this.#quietView === round.viewHash;
    this.#quietView = quiet ? round.viewHash : null;
    // The second round follows the first at once; after that there is time.
    const soon = quiet && !twice;
    this.#nextRoundAt = soon ? now.mono : now.mono + resendAfterMs(this.#p.settings);
    if (twice) this.#take(round.answers, now);
    else this.pump(now);
  }

  #take(answers: ReadonlyMap<AgentId, Counted>, now: Instant): void {
    let pages = 0;
    for (const [id, counted] of answers) {
      const account = this.#accounts.get(id);
      // It has begun a new session since: the next round will know it.
      if (account?.session !== counted.session) return;
      pages += counted.pages;
      // What it was granted and has not heard of yet counts as well.
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
