// URLs that peers send to this agent as the owner of their hosts (PROTOCOL rule 12). They are
// recorded at once and acknowledged when this agent has joined, what was recorded is at all present
// backups of those hosts, and the commit is on disk: then the sender may forget them. What is not
// this agent's, by its view at the time of the answer, is named in it and stays with the sender.
// Bounded: few batches of one sender wait here, further ones are left to be resent.

import type { Instant } from '../../../failure-detector/instant.ts';
import { hasOriginOf } from '../../url/url-key.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { AgentId, Host, Incarnation, Message, UrlItem } from '../protocol/messages.ts';
import type { Copies } from '../replication/settlement.ts';
import type { KnownUrls } from './known-urls.ts';
import type { Routing } from './routing.ts';

/** Batches of one sender that wait; a sender has one on its way at a time, and may be reborn. */
const PENDING_PER_SENDER_MAX = 4;
/**
 * Further batches of one sender that are left, since the last that was taken, before it is named: at
 * each change of its view a sender begins anew.
 */
const LEFT_MAX = 100;

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
  readonly routing: Pick<Routing, 'enqueue'>;
  /** Tells the others what was acknowledged. */
  readonly known: KnownUrls;
  readonly refused: RefusedClaims;
}

export class Inbox {
  readonly #p: InboxParts;
  /** Keyed by sender, incarnation and batch: a batch that is resent does not wait twice. */
  readonly #waiting = new Map<string, Batch>();
  /** By sender: batches left since one was taken. Entries end with the incarnation. */
  readonly #left = new Map<AgentId, number>();
  #joined = false;
  /** Those whose URLs are recorded again after a change of the view, before they are answered. */
  #outdated = new Set<Batch>();

  constructor(parts: InboxParts) {
    this.#p = parts;
  }

  reset(): void {
    this.#waiting.clear();
    this.#outdated.clear();
    this.#left.clear();
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

  /** The next turn has URLs to record. */
  get isBusy(): boolean {
    return this.#joined && this.#outdated.size > 0;
  }

  join(): void {
    this.#joined = true;
    this.#outdated = new Set(this.#waiting.values());
  }

  viewChanged(): void {
    this.#outdated = new Set(this.#waiting.values());
    this.#p.known.reset();
  }

  /** A malformed URL refuses the batch: the sender splits it. */
  onUrls(from: Member, message: Extract<Message, { type: 'URLS' }>, now: Instant): void {
    const { batch, urls } = message;
    const reason = this.#refusalOf(urls);
    if (reason !== null) {
      this.#p.outbound.toMember(from, { type: 'BATCH_REFUSED', batch, reason });
      this.#p.refused.refuse(from.card.id, 'urls', reason, now);
      return;
    }
    const { id, inc } = from.card;
    const key = `${id}.${inc}/${batch}`;
    if (this.#waiting.has(key)) return;
    const ofSender = [...this.#waiting.values()].filter((b) => b.from === id).length;
    if (ofSender >= PENDING_PER_SENDER_MAX) {
      const left = (this.#left.get(id) ?? 0) + 1;
      this.#left.set(id, left);
      const why = `more than ${PENDING_PER_SENDER_MAX} batches of it wait`;
      if (left > LEFT_MAX) this.#p.refused.refuse(id, 'urls', why, now);
      return;
    }
    this.#left.delete(id);
    const waiting: Batch = { from: id, inc, batch, urls, needs: this.#record(urls) };
    this.#waiting.set(key, waiting);
    this.#tryAnswer(key, waiting);
  }

  /** Why the first malformed URL is refused; null: none is malformed. */
  #refusalOf(urls: readonly UrlItem[]): string | null {
    for (const { url, fetchUrl } of urls) {
      const start = url.slice(0, 200);
      if (this.#p.hostOf(url) === null) return `not a canonical URL: ${start}`;
      if (fetchUrl !== undefined && !hasOriginOf(url, fetchUrl)) {
        return `requested at another origin: ${start}`;
      }
    }
    return null;
  }

  #record(urls: readonly UrlItem[]): Map<Host, number> {
    const needs = new Map<Host, number>();
    for (const item of urls) {
      const host = this.#p.hostOf(item.url);
      if (host !== null && this.#p.view.owns(host))
        needs.set(host, this.#p.routing.enqueue(host, item));
    }
    return needs;
  }

  #tryAnswer(key: string, waiting: Batch): void {
    if (!this.#joined || this.#outdated.has(waiting)) return;
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
    const [outdated] = this.#outdated;
    // One each turn: a batch of all senders may be many.
    if (outdated && this.#joined) {
      outdated.needs = this.#record(outdated.urls);
      this.#outdated.delete(outdated);
    }
    for (const [key, waiting] of [...this.#waiting]) this.#tryAnswer(key, waiting);
    this.#p.known.pump(now);
  }
}
