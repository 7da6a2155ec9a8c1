// URLs that peers send to this agent as the owner of their hosts (PROTOCOL rule 12). They are
// recorded at once and acknowledged when this agent has joined, what was recorded is at all present
// backups of those hosts, and the commit is on disk: then the sender may forget them. What is not
// this agent's, by its view at the time of the answer, is named in it and stays with the sender.
// Bounded: few batches of one sender wait here, further ones are left to be resent.

import type { Instant } from '../../failure-detector/instant.ts';
import type { KnownUrls } from './known-urls.ts';
import type { AgentId, Host, Incarnation, Message, UrlItem } from './messages.ts';
import type { Outbound } from './outbound.ts';
import type { Copies } from './settlement.ts';
import type { Member, View } from './view.ts';

/** Batches of one sender that wait; a sender has one on its way at a time, and may be reborn. */
const PENDING_PER_SENDER_MAX = 4;

interface Batch {
  readonly from: AgentId;
  /** A later life of the sender counts its batches anew: it must not take this answer for its. */
  readonly inc: Incarnation;
  readonly batch: number;
  readonly urls: readonly UrlItem[];
  /** The last number of each host when the URLs were recorded. */
  needs: ReadonlyMap<Host, number>;
}

export interface InboxParts {
  readonly view: View;
  readonly outbound: Outbound;
  readonly copies: Copies;
  readonly hostOf: (url: string) => Host | null;
  /** Records a URL on a host of this agent; gives the last number of the host. */
  readonly record: (host: Host, item: UrlItem) => number;
  /** Tells the others what was acknowledged. */
  readonly known: KnownUrls;
}

export class Inbox {
  readonly #p: InboxParts;
  /** Keyed by sender, incarnation and batch: a batch that is resent does not wait twice. */
  readonly #waiting = new Map<string, Batch>();
  #joined = false;
  #viewChanged = false;

  constructor(parts: InboxParts) {
    this.#p = parts;
  }

  reset(): void {
    this.#waiting.clear();
    this.#joined = false;
    this.#p.known.reset();
  }

  get isQuiet(): boolean {
    return this.#waiting.size === 0;
  }

  /** Batches of peers that wait for their acknowledgement. */
  get count(): number {
    return this.#waiting.size;
  }

  join(): void {
    this.#joined = true;
    this.#viewChanged = true;
  }

  viewChanged(): void {
    this.#viewChanged = true;
    this.#p.known.reset();
  }

  /** A malformed URL refuses the batch: the sender splits it. */
  onUrls(from: Member, message: Extract<Message, { type: 'URLS' }>): void {
    const { batch, urls } = message;
    const malformed = urls.find((item) => this.#p.hostOf(item.url) === null);
    if (malformed) {
      const reason = `not a canonical URL: ${malformed.url.slice(0, 200)}`;
      this.#p.outbound.toMember(from, { type: 'BATCH_REFUSED', batch, reason });
      return;
    }
    const { id, inc } = from.card;
    const key = `${id}.${inc}/${batch}`;
    if (this.#waiting.has(key)) return;
    const ofSender = [...this.#waiting.values()].filter((b) => b.from === id).length;
    if (ofSender >= PENDING_PER_SENDER_MAX) return;
    const waiting: Batch = { from: id, inc, batch, urls, needs: this.#record(urls) };
    this.#waiting.set(key, waiting);
    this.#tryAnswer(key, waiting);
  }

  #record(urls: readonly UrlItem[]): Map<Host, number> {
    const needs = new Map<Host, number>();
    for (const item of urls) {
      const host = this.#p.hostOf(item.url);
      if (host !== null && this.#p.view.owns(host)) needs.set(host, this.#p.record(host, item));
    }
    return needs;
  }

  #tryAnswer(key: string, waiting: Batch): void {
    if (!this.#joined) return;
    const { view, copies, outbound, hostOf } = this.#p;
    const member = view.get(waiting.from);
    if (member?.card.inc !== waiting.inc) {
      this.#waiting.delete(key);
      return;
    }
    for (const [host, n] of waiting.needs) {
      if (view.owns(host) && !copies.isSafe(host, n)) return;
    }
    const notMine: number[] = [];
    waiting.urls.forEach((item, index) => {
      if (!view.owns(hostOf(item.url) ?? '')) notMine.push(index);
      else if (item.depth === 0) this.#p.known.acknowledged(item.url);
    });
    this.#waiting.delete(key);
    const ack: Message = { type: 'URLS_ACK', batch: waiting.batch, notMine };
    outbound.toMember(member, ack, { durable: true });
  }

  /** Answers what has become safe; after a change of the view, what has become ours is recorded. */
  pump(now: Instant): void {
    const again = this.#viewChanged && this.#joined;
    if (again) this.#viewChanged = false;
    for (const [key, waiting] of [...this.#waiting]) {
      if (again) waiting.needs = this.#record(waiting.urls);
      this.#tryAnswer(key, waiting);
    }
    this.#p.known.pump(now);
  }
}
