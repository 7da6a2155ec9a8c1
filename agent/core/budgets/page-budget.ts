// Requests page tokens for this agent (`limits.pages`, adr/0030). A page is requested only with a
// token, and a page that ends, with a response or failed, spends its token. An agent keeps a few
// tokens in stock, asks for more as it uses them, and returns those that it does not need. The owner
// begins an epoch with each census. Tokens that are held then are counted by the census.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { AgentId, Host, Message } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import { type Epoch, isLater, NO_EPOCH } from './epoch.ts';
import type { Asker } from './permit-grants.ts';

export type PagesAsk = Extract<Message, { type: 'PAGES_ASK' }>;
export type PagesGrant = Extract<Message, { type: 'PAGES_GRANT' }>;

/** Heartbeat intervals after which unused tokens are returned, as other agents may need them. */
const UNUSED_HEARTBEATS = 2;

interface PageBudgetParts {
  readonly settings: Pick<CoreSettings, 'heartbeatMs' | 'suspectAfterMs' | 'bounds'>;
  /** The agent that grants, as far as is known; null: it is being looked for. */
  readonly owner: () => Asker | null;
  /** The agent that `owner` named does not grant, or does not answer. */
  readonly notOwner: () => void;
  readonly tell: (owner: AgentId, ask: PagesAsk, now: Instant) => void;
  /** Checks a host again that waited for a token. */
  readonly recheck: (host: Host, now: Instant) => void;
  /** The limit is reached, so all queued pages end. */
  readonly reached: (now: Instant) => void;
}

export class PageBudget {
  readonly #p: PageBudgetParts;
  #owner: Asker | null = null;
  /** Grants of other epochs are void. */
  #epoch: Epoch = NO_EPOCH;
  /** Tokens asked for, granted and returned in this epoch. */
  #wanted = 0;
  #granted = 0;
  #returned = 0;
  /** Returned tokens that the owner has confirmed. */
  #heardReturned = 0;
  #stock = 0;
  /** Open requests for pages, each with a token. */
  readonly #used = new Set<number>();
  /** Hosts whose threads wait for a token. */
  readonly #waiting = new Set<Host>();
  #over = false;
  #askedAt = -Infinity;
  /** When the owner was first asked since its last answer; null: it has answered. */
  #unansweredSince: number | null = null;
  /** When the stock was last used or refilled. */
  #takenAt = 0;
  /** Tokens taken in the present heartbeat interval, which began at `since`, and in the last one. */
  #rate = { since: 0, now: 0, last: 0 };

  constructor(parts: PageBudgetParts) {
    this.#p = parts;
  }

  /** The owner has reported that the limit is reached. */
  get over(): boolean {
    return this.#over;
  }

  /** Tokens that may still become pages: in stock or with open requests. */
  get held(): number {
    return this.#stock + this.#used.size;
  }

  get hostsWaiting(): number {
    return this.#waiting.size;
  }

  get epoch(): Epoch {
    return this.#epoch;
  }

  /** The pages and tokens of this agent that were not granted in this epoch. */
  baseOf(pages: number): number {
    return pages + this.held - this.#granted + this.#returned;
  }

  /** Whether there is a token; if not, the host is checked again once there may be one. */
  has(host: Host): boolean {
    if (this.#stock > 0) return true;
    this.#waiting.add(host);
    return false;
  }

  /** Takes a token for a request that starts; false: there is none. */
  take(request: number, now: Instant): boolean {
    if (this.#stock === 0) return false;
    this.#stock--;
    this.#taken(1, now);
    this.#used.add(request);
    return true;
  }

  /** The request has ended. The token is kept unless its page has ended, too. */
  ended(request: number, pageEnded: boolean): void {
    if (this.#used.delete(request) && !pageEnded) this.#stock++;
  }

  /** The host no longer waits for a token. */
  leave(host: Host): void {
    this.#waiting.delete(host);
  }

  /** Takes up to `max` tokens for queued pages that end without requests. Returns how many. */
  takeSome(host: Host, max: number, now: Instant): number {
    const taken = Math.min(max, this.#stock);
    if (taken === 0) this.#waiting.add(host);
    else this.#taken(taken, now);
    this.#stock -= taken;
    return taken;
  }

  #taken(count: number, now: Instant): void {
    this.#takenAt = now.mono;
    this.#rate.now += count;
  }

  /** Puts back tokens of `takeSome` whose pages did not end. */
  giveBack(unused: number): void {
    this.#stock += unused;
  }

  onGrant(from: AgentId, grant: Omit<PagesGrant, 'type'>, now: Instant): void {
    if (this.#owner?.id !== from) return;
    this.#unansweredSince = null;
    if (grant.epoch === NO_EPOCH) return this.#forgetOwner();
    // The census of the epoch did not count the tokens that this agent still has.
    if (grant.epoch !== this.#epoch && this.held === 0) this.begin(grant.epoch);
    if (grant.epoch !== this.#epoch) return;
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

  /** A census begins. It counts the tokens that this agent has. */
  begin(epoch: Epoch): void {
    if (!isLater(epoch, this.#epoch)) return;
    this.#epoch = epoch;
    this.#wanted = 0;
    this.#granted = 0;
    this.#returned = 0;
    this.#heardReturned = 0;
    this.#over = false;
    this.#askedAt = -Infinity;
  }

  /** The incarnation has ended, and with it the requests that have tokens. */
  reset(): void {
    this.#epoch = NO_EPOCH;
    this.#stock = 0;
    this.#used.clear();
    this.#over = false;
    this.#owner = null;
  }

  #forgetOwner(): void {
    this.#owner = null;
    this.#unansweredSince = null;
    this.#p.notOwner();
  }

  #turnToOwner(): void {
    const owner = this.#p.owner();
    if (owner?.id === this.#owner?.id && owner?.inc === this.#owner?.inc) return;
    this.#owner = owner;
    this.#unansweredSince = null;
    this.#askedAt = -Infinity;
  }

  pump(now: Instant): void {
    const { settings, tell } = this.#p;
    this.#turnToOwner();
    if (!this.#owner) return;
    if (now.mono - this.#rate.since >= settings.heartbeatMs) {
      this.#rate = { since: now.mono, now: 0, last: this.#rate.now };
    }
    const unusedMs = UNUSED_HEARTBEATS * settings.heartbeatMs;
    if (this.#stock > 0 && now.mono - this.#takenAt >= unusedMs) {
      this.#returned += this.#stock;
      this.#stock = 0;
      this.#wanted = this.#granted;
    }
    const wanted = this.#granted + this.#lacking();
    const more = wanted > this.#wanted;
    if (more) this.#wanted = wanted;
    const lacks = this.#wanted > this.#granted && this.#lacking() > 0;
    const isUnanswered = lacks || this.#heardReturned < this.#returned;
    const isResendDue = now.mono - this.#askedAt >= resendAfterMs(settings);
    if (!more && !(isUnanswered && isResendDue)) return;
    this.#unansweredSince ??= now.mono;
    if (now.mono - this.#unansweredSince >= settings.suspectAfterMs) return this.#forgetOwner();
    this.#askedAt = now.mono;
    const account = { epoch: this.#epoch, granted: this.#granted, returned: this.#returned };
    tell(this.#owner.id, { type: 'PAGES_ASK', ...account, wanted: this.#wanted }, now);
  }

  /**
   * A token for each waiting thread or, while tokens are in use, as many as were used in a heartbeat
   * interval, but for at most half of all threads.
   */
  #lacking(): number {
    const { now, last } = this.#rate;
    const most = this.#p.settings.bounds.unreplicated / 2;
    const ahead = this.#used.size > 0 ? Math.min(Math.max(now, last), most) : 0;
    return Math.max(0, Math.ceil(Math.max(this.#waiting.size, ahead)) - this.#stock);
  }
}
