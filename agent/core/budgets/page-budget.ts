// The asking side of the crawl's page limit (`limits.pages`): a page is requested only with a token,
// and a token is spent by a page that ends, with a response or failed. An agent keeps a few, asks
// for more as it uses them, and returns those that it has no use for. The visits take and give
// back; `page-grants.ts`, on the one agent that owns the name, grants and counts (adr/0030).

import type { Instant } from '../../../failure-detector/instant.ts';
import type { View } from '../membership/view.ts';
import type { AgentId, Host, Incarnation, Message } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';

export type PagesAsk = Extract<Message, { type: 'PAGES_ASK' }>;
export type PagesGrant = Extract<Message, { type: 'PAGES_GRANT' }>;

/** The name under which the page limit lies on the ring; no host is called so. */
export const PAGES_NAME = 'limit:pages';

/** Tokens that nobody took for so many heartbeats go back: others may wait for them. */
const UNUSED_HEARTBEATS = 2;

export interface PageBudgetParts {
  readonly settings: Pick<CoreSettings, 'id' | 'heartbeatMs' | 'pagesMax' | 'bounds'>;
  readonly view: View;
  readonly inc: () => Incarnation;
  readonly tell: (owner: AgentId, ask: PagesAsk, now: Instant) => void;
  /** A visit waits for a token no longer. */
  readonly recheck: (host: Host, now: Instant) => void;
  /** The limit is reached: whatever is queued ends. */
  readonly reached: (now: Instant) => void;
}

export class PageBudget {
  readonly #p: PageBudgetParts;
  #owner: { readonly id: AgentId; readonly inc: Incarnation } | null = null;
  /** Grows when the counters below begin anew: what was said of others is void. */
  #session = 0;
  /** All that was asked for, granted and returned in this session. */
  #wanted = 0;
  #granted = 0;
  #returned = 0;
  /** What the owner has heard of that. */
  #heardReturned = 0;
  #stock = 0;
  /** Open requests for pages, each with a token. */
  readonly #used = new Set<number>();
  /** Hosts whose threads wait for a token. */
  readonly #waiting = new Set<Host>();
  #over = false;
  #askedAt = -Infinity;
  #takenAt = 0;

  constructor(parts: PageBudgetParts) {
    this.#p = parts;
  }

  /** The limit is reached, by the word of the owner. */
  get over(): boolean {
    return this.#over;
  }

  /** Tokens that may become pages yet: in stock, or with open requests. */
  get held(): number {
    return this.#stock + this.#used.size;
  }

  /** Hosts whose threads wait for a token. */
  get hostsWaiting(): number {
    return this.#waiting.size;
  }

  account(): { session: number; granted: number; returned: number } {
    return { session: this.#session, granted: this.#granted, returned: this.#returned };
  }

  /** Whether a page may be requested; if not, the host is looked at again when it may. */
  has(host: Host): boolean {
    if (this.#stock > 0) return true;
    this.#waiting.add(host);
    return false;
  }

  /** The request of a page begins, or is refused for want of a token. */
  take(request: number, now: Instant): boolean {
    if (this.#stock === 0) return false;
    this.#stock--;
    this.#takenAt = now.mono;
    this.#used.add(request);
    return true;
  }

  /** The request is over. Its page has not ended where it is to be asked for again. */
  ended(request: number, pageEnded: boolean): void {
    if (this.#used.delete(request) && !pageEnded) this.#stock++;
  }

  /** The host's thread does not wait any more. */
  leave(host: Host): void {
    this.#waiting.delete(host);
  }

  /** For up to `max` queued pages that are to end without requests; gives for how many. */
  takeSome(host: Host, max: number, now: Instant): number {
    const taken = Math.min(max, this.#stock);
    if (taken === 0) this.#waiting.add(host);
    else this.#takenAt = now.mono;
    this.#stock -= taken;
    return taken;
  }

  /** Of those, so many did not end. */
  giveBack(unused: number): void {
    this.#stock += unused;
  }

  onGrant(from: AgentId, grant: Omit<PagesGrant, 'type'>, now: Instant): void {
    if (this.#owner?.id !== from || grant.session !== this.#session) return;
    if (grant.restart) return this.#restart();
    this.#over = grant.over;
    this.#heardReturned = Math.max(this.#heardReturned, grant.returned);
    const more = grant.granted - this.#granted;
    if (more > 0) {
      this.#granted = grant.granted;
      this.#stock += more;
      this.#takenAt = now.mono;
    }
    if (this.#over) this.#p.reached(now);
    if (more <= 0 && !this.#over) return;
    const woken = [...this.#waiting];
    this.#waiting.clear();
    for (const host of woken) this.#p.recheck(host, now);
  }

  /** Whom this agent asks now: another owner knows of nothing, and counts what is held. */
  turnTo(owner: AgentId | undefined): void {
    const { view, settings, inc } = this.#p;
    const card =
      owner === settings.id
        ? { id: settings.id, inc: inc() }
        : owner === undefined
          ? undefined
          : view.get(owner)?.card;
    if (card?.id === this.#owner?.id && card?.inc === this.#owner?.inc) return;
    this.#owner = card ? { id: card.id, inc: card.inc } : null;
    this.#restart();
  }

  #restart(): void {
    this.#session++;
    this.#wanted = 0;
    this.#granted = 0;
    this.#returned = 0;
    this.#heardReturned = 0;
    this.#stock = 0;
    this.#over = false;
    this.#askedAt = -Infinity;
  }

  pump(now: Instant): void {
    const { settings, view, tell } = this.#p;
    this.turnTo(view.owner(PAGES_NAME));
    if (!this.#owner) return;
    const again = now.mono - this.#askedAt >= resendAfterMs(settings);
    const unusedMs = UNUSED_HEARTBEATS * settings.heartbeatMs;
    if (this.#stock > 0 && now.mono - this.#takenAt >= unusedMs) {
      this.#returned += this.#stock;
      this.#stock = 0;
      this.#wanted = this.#granted;
    }
    const wanted = this.#granted + this.#lacking();
    const more = wanted > this.#wanted;
    if (more) this.#wanted = wanted;
    const open = this.#wanted > this.#granted && this.#lacking() > 0;
    if (!more && !((open || this.#heardReturned < this.#returned) && again)) return;
    this.#askedAt = now.mono;
    const { id } = this.#owner;
    tell(id, { type: 'PAGES_ASK', ...this.account(), wanted: this.#wanted }, now);
  }

  /** One for each thread that waits; and half of the threads' worth ahead while they are used. */
  #lacking(): number {
    const ahead = this.#used.size > 0 ? this.#p.settings.bounds.unreplicated / 2 : 0;
    return Math.max(0, Math.ceil(Math.max(this.#waiting.size, ahead)) - this.#stock);
  }
}
