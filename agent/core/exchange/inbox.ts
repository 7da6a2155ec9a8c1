// Accepts URLs that peers send to this agent as the owner of their hosts (PROTOCOL rule 12). URLs are
// recorded at once. A batch is acknowledged, and the sender forgets it, when this agent has joined,
// all present backups have the rows, and the commit is on disk. The acknowledgement names the URLs
// that this agent does not own by then; these stay with the sender.

import type { Instant } from '../../../failure-detector/instant.ts';
import { hasOriginOf } from '../../url/url-key.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { View } from '../membership/view.ts';
import type { AgentId, Host, MemberCard, Message, UrlItem } from '../protocol/messages.ts';
import type { Copies } from '../replication/settlement.ts';
import type { Routing } from './routing.ts';
import type { UrlAnnouncements } from './url-announcements.ts';

/** Batches of one sender that may wait; it sends one at a time, and may be reborn meanwhile. */
const PENDING_PER_SENDER_MAX = 4;
/**
 * Batches of one sender that are ignored in a row before it is reported as at fault. A sound sender
 * has some ignored, as it begins another batch after each change of its view.
 */
const IGNORED_MAX = 100;

interface Batch {
  /** Each incarnation of the sender numbers its batches anew; it must not get another's answer. */
  readonly from: MemberCard;
  readonly batch: number;
  readonly urls: readonly UrlItem[];
  /** The last number of each host when the URLs were recorded. */
  needs: ReadonlyMap<Host, number>;
}

export interface InboxParts {
  readonly view: View;
  /** Senders need not be in view. */
  readonly isPartial: boolean;
  readonly outbound: Outbound;
  readonly copies: Copies;
  readonly hostOf: (url: string) => Host | null;
  readonly routing: Pick<Routing, 'enqueue'>;
  /** Announces acknowledged URLs to the other agents. */
  readonly known: UrlAnnouncements;
  readonly refused: RefusedClaims;
}

export class Inbox {
  readonly #p: InboxParts;
  /** By sender, incarnation and batch, so that a resent batch does not wait twice. */
  readonly #waiting = new Map<string, Batch>();
  /** By sender: batches ignored since one was accepted. Cleared with the incarnation. */
  readonly #ignored = new Map<AgentId, number>();
  #joined = false;
  /** Batches whose URLs must be recorded again after a change of the view, before the answer. */
  #outdated = new Set<Batch>();

  constructor(parts: InboxParts) {
    this.#p = parts;
  }

  reset(): void {
    this.#waiting.clear();
    this.#outdated.clear();
    this.#ignored.clear();
    this.#joined = false;
    this.#p.known.reset();
  }

  get isQuiet(): boolean {
    return this.#waiting.size === 0;
  }

  /** Batches that wait for their acknowledgement. */
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

  /** Refuses a batch with a malformed URL as a whole; the sender then splits it. */
  onUrls(from: MemberCard, message: Extract<Message, { type: 'URLS' }>, now: Instant): void {
    const { batch, urls } = message;
    const reason = this.#refusalOf(urls);
    if (reason !== null) {
      this.#p.outbound.toCard(from, { type: 'BATCH_REFUSED', batch, reason });
      this.#p.refused.refuse(from.id, 'urls', reason, now);
      return;
    }
    const { id, inc } = from;
    const key = `${id}.${inc}/${batch}`;
    if (this.#waiting.has(key)) return;
    const ofSender = [...this.#waiting.values()].filter((b) => b.from.id === id).length;
    if (ofSender >= PENDING_PER_SENDER_MAX) {
      const ignored = (this.#ignored.get(id) ?? 0) + 1;
      this.#ignored.set(id, ignored);
      const why = `more than ${PENDING_PER_SENDER_MAX} batches of it wait`;
      // The neighbourhood changes more often than a full view.
      if (ignored > IGNORED_MAX && !this.#p.isPartial) this.#p.refused.refuse(id, 'urls', why, now);
      return;
    }
    this.#ignored.delete(id);
    const waiting: Batch = { from, batch, urls, needs: this.#record(urls) };
    this.#waiting.set(key, waiting);
    this.#tryAnswer(key, waiting);
  }

  /** What is wrong with the first malformed URL; null: all are well formed. */
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
      if (host === null || !this.#p.view.owns(host)) continue;
      needs.set(host, this.#p.routing.enqueue(host, item));
    }
    return needs;
  }

  #tryAnswer(key: string, waiting: Batch): void {
    if (!this.#joined || this.#outdated.has(waiting)) return;
    const { view, copies, outbound, hostOf } = this.#p;
    if (!this.#isPresent(waiting.from)) {
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
    outbound.toCard(waiting.from, ack, { durable: true });
  }

  /** Whether the sender may still want an answer. */
  #isPresent({ id, inc }: MemberCard): boolean {
    const member = this.#p.view.get(id);
    return member ? member.card.inc === inc : this.#p.isPartial;
  }

  /** Records URLs again after a change of the view, and acknowledges batches that are safe. */
  pump(now: Instant): void {
    const [outdated] = this.#outdated;
    // One batch per turn, as the senders may be many.
    if (outdated && this.#joined) {
      outdated.needs = this.#record(outdated.urls);
      this.#outdated.delete(outdated);
    }
    for (const [key, waiting] of [...this.#waiting]) this.#tryAnswer(key, waiting);
    this.#p.known.pump(now);
  }
}
