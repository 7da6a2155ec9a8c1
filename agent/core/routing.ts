// The way of a URL between agents (DESIGN section 3; PROTOCOL rule 12). What belongs to this agent
// is recorded; everything else goes to the outbox and from there, one batch at a time for each
// peer, to the owner. A batch is acknowledged when it is durable at the owner; what is not the
// owner's, by its own view, stays here until the views agree. A restarted or changed view routes
// the outbox anew. The outbox is in SQLite; only the batches in flight are in memory.

import type { Instant } from '../../failure-detector/instant.ts';
import type { AgentId, Host, Incarnation, Message, UrlItem } from './messages.ts';
import type { Outbound } from './outbound.ts';
import type { SeenFilter } from './seen-filter.ts';
import { type CoreSettings, resendAfterMs } from './settings.ts';
import type { Settlement } from './settlement.ts';
import type { OutboxEntry, SkipReason, Store } from './store.ts';
import type { Member, View } from './view.ts';

/** URLs in a batch, and the characters of their texts: far under the frame's cap. */
const BATCH_URLS_MAX = 400;
const BATCH_CHARS_MAX = 96 * 1024;
/** Above this the visits pause: what the peers do not take must not pile up without end. */
const OUTBOX_HIGH = 50_000;
/** Queued URLs of hosts that changed owner, moved to the outbox in one turn. */
const EVICTED_PER_TURN = 1000;
/** Hosts looked up in one turn after a change of the view: some ten milliseconds. */
const CHECKED_PER_TURN = 1000;
/** Batches of one sender that wait here for this agent to join; more are left to be resent. */
const PENDING_PER_SENDER_MAX = 4;

interface Flight {
  readonly batch: number;
  entries: readonly OutboxEntry[];
  sentAt: number;
  /** Not mine, the peer said: tried again only after this. */
  notBefore: number;
}

interface PendingBatch {
  readonly from: AgentId;
  /** A later life of the sender counts its batches anew: it must not take this answer for its. */
  readonly inc: Incarnation;
  readonly batch: number;
  readonly urls: readonly UrlItem[];
}

export interface Routed {
  readonly fresh: number;
  /** Outbox entries of the links that belong to others. */
  readonly outboxIds: ReadonlySet<number>;
}

export class Routing {
  readonly #settings: CoreSettings;
  readonly #store: Store;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #seen: SeenFilter;
  readonly #settlement: Settlement;
  /** Told of each host that got a queued URL. */
  readonly #onQueued: (host: Host) => void;
  readonly #admit: (item: UrlItem) => SkipReason | null;
  readonly #hostOf: (url: string) => Host | null;
  readonly #isOpen: (host: Host) => boolean;
  readonly #flights = new Map<AgentId, Flight>();
  /** Batches taken in before joining, keyed by sender and batch: acknowledged upon the join. */
  readonly #pending = new Map<string, PendingBatch>();
  /** Hosts that are not this agent's any more and still have queued URLs here. */
  readonly #evicted = new Set<Host>();
  /** Hosts with queued URLs that are still to be looked at since the view changed. */
  #unchecked: Host[] = [];
  #lastBatch = 0;
  #joined = false;

  constructor(parts: {
    settings: CoreSettings;
    store: Store;
    view: View;
    outbound: Outbound;
    seen: SeenFilter;
    settlement: Settlement;
    onQueued: (host: Host) => void;
    admit: (item: UrlItem) => SkipReason | null;
    hostOf: (url: string) => Host | null;
    isOpen: (host: Host) => boolean;
  }) {
    this.#settings = parts.settings;
    this.#store = parts.store;
    this.#view = parts.view;
    this.#outbound = parts.outbound;
    this.#seen = parts.seen;
    this.#settlement = parts.settlement;
    this.#onQueued = parts.onQueued;
    this.#admit = parts.admit;
    this.#hostOf = parts.hostOf;
    this.#isOpen = parts.isOpen;
  }

  reset(): void {
    this.#flights.clear();
    this.#pending.clear();
    this.#joined = false;
  }

  get isQuiet(): boolean {
    return this.#isSettled && this.#store.outboxCount() === 0;
  }

  get #isSettled(): boolean {
    return this.#evicted.size === 0 && this.#unchecked.length === 0;
  }

  get isFull(): boolean {
    return this.#store.outboxCount() >= OUTBOX_HIGH;
  }

  /** Whether no queued URLs of the host, which is another's, are left here. */
  isEmptied(host: Host): boolean {
    return this.#store.queuedOf(host) === 0;
  }

  /** Takes the found links of a page (or seeds) to where they belong. */
  route(items: readonly UrlItem[]): Routed {
    const outboxIds = new Set<number>();
    let fresh = 0;
    for (const item of items) {
      const host = this.#hostOf(item.url);
      if (host === null) continue;
      const owner = this.#view.owner(host);
      if (this.#joined && owner === this.#settings.id) {
        if (this.#insert(host, item)) fresh++;
      } else {
        outboxIds.add(this.#store.addToOutbox(host, owner ?? '', item));
      }
    }
    return { fresh, outboxIds };
  }

  #insert(host: Host, item: UrlItem): boolean {
    const root = item.depth === 0;
    if (this.#seen.has(item.url, root)) return false;
    this.#seen.add(item.url, root);
    const skip = this.#admit(item);
    const fresh = this.#store.insertUrl(host, item, skip) === 'new';
    if (fresh && skip === null) this.#onQueued(host);
    return fresh;
  }

  /** URLs of a peer. A malformed one refuses the batch: the sender splits it. */
  onUrls(from: Member, message: Extract<Message, { type: 'URLS' }>): void {
    for (const item of message.urls) {
      if (this.#hostOf(item.url) !== null) continue;
      const reason = `not a canonical URL: ${item.url.slice(0, 200)}`;
      this.#outbound.toMember(from, { type: 'BATCH_REFUSED', batch: message.batch, reason });
      return;
    }
    if (!this.#joined) {
      const { id, inc } = from.card;
      const key = `${id}.${inc}/${message.batch}`;
      const ofSender = [...this.#pending.values()].filter((p) => p.from === id).length;
      if (ofSender >= PENDING_PER_SENDER_MAX && !this.#pending.has(key)) return;
      this.#accept(message.urls);
      this.#pending.set(key, { from: id, inc, batch: message.batch, urls: message.urls });
      return;
    }
    const notMine = this.#accept(message.urls);
    const ack: Message = { type: 'URLS_ACK', batch: message.batch, notMine };
    this.#outbound.toMember(from, ack, { durable: true });
  }

  /** Records those that are this agent's; gives the indices of the others. */
  #accept(urls: readonly UrlItem[]): number[] {
    const notMine: number[] = [];
    urls.forEach((item, index) => {
      const host = this.#hostOf(item.url);
      if (host !== null && this.#view.owns(host)) this.#insert(host, item);
      else notMine.push(index);
    });
    return notMine;
  }

  onUrlsAck(from: Member, batch: number, notMine: readonly number[], now: Instant): void {
    const flight = this.#flights.get(from.card.id);
    if (!flight || flight.batch !== batch) return;
    const left = new Set(notMine);
    const done = flight.entries.filter((_, index) => !left.has(index)).map((entry) => entry.id);
    this.#store.removeFromOutbox(done);
    this.#settlement.safe(done);
    if (left.size === 0) {
      this.#flights.delete(from.card.id);
      return;
    }
    // The views differ: they will agree within a heartbeat or two, so no hurry.
    flight.entries = [];
    flight.notBefore = now.mono + resendAfterMs(this.#settings);
  }

  /** The peer found the batch malformed: halves are tried, and a single URL ends as failed. */
  onBatchRefused(from: Member, batch: number, reason: string, now: Instant): void {
    const flight = this.#flights.get(from.card.id);
    if (!flight || flight.batch !== batch) return;
    const only = flight.entries.length === 1 ? flight.entries[0] : undefined;
    if (!only) {
      this.#send(from, flight.entries.slice(0, Math.ceil(flight.entries.length / 2)), now);
      return;
    }
    const host = this.#hostOf(only.item.url) ?? '';
    const error = `refused by peer: ${reason}`.slice(0, 200);
    this.#store.failUrl(host, only.item, error, now.mono);
    this.#store.removeFromOutbox([only.id]);
    this.#settlement.safe([only.id]);
    this.#flights.delete(from.card.id);
  }

  /** Now this agent counts: it answers what it took in before, and its own entries come home. */
  join(): void {
    this.#joined = true;
    for (const { from, inc, batch, urls } of this.#pending.values()) {
      const member = this.#view.get(from);
      if (member?.card.inc !== inc) continue;
      const notMine = this.#accept(urls);
      this.#outbound.toMember(member, { type: 'URLS_ACK', batch, notMine }, { durable: true });
    }
    this.#pending.clear();
    this.viewChanged();
  }

  /** Routes the outbox anew and finds the hosts whose queues must follow their owner. */
  viewChanged(): void {
    this.#seen.clear();
    if (!this.#joined) return;
    for (const { host, owner: was } of this.#store.outboxHosts()) {
      const owner = this.#view.owner(host) ?? '';
      if (owner === this.#settings.id) this.#bringHome(host);
      else if (owner !== was) this.#store.rerouteOutbox(host, owner);
    }
    for (const id of [...this.#flights.keys()]) this.#flights.delete(id);
    this.#evicted.clear();
    this.#unchecked = this.#store.hostsWithQueue();
  }

  /** Finds the hosts whose queues must follow their owner, some each turn. */
  #check(): void {
    for (const host of this.#unchecked.splice(-CHECKED_PER_TURN)) {
      // A host that came back before its queue had left is not known to the visits any more.
      if (this.#view.owns(host)) this.#onQueued(host);
      else this.#evicted.add(host);
    }
  }

  #bringHome(host: Host): void {
    const entries = this.#store.outboxEntriesOf(host);
    for (const { item } of entries) this.#insert(host, item);
    const ids = entries.map((entry) => entry.id);
    this.#store.removeFromOutbox(ids);
    this.#settlement.safe(ids);
  }

  /** A URL fell back into the queue of a host that may not be this agent's any more. */
  requeued(host: Host): void {
    if (this.#joined && !this.#view.owns(host)) this.#evicted.add(host);
  }

  /** Moves queues of lost hosts, and sends what is due. */
  pump(now: Instant): void {
    if (this.#joined) {
      this.#check();
      this.#evict();
    }
    for (const member of this.#view.members()) {
      const flight = this.#flights.get(member.card.id);
      if (flight && flight.entries.length > 0) {
        const due = now.mono - flight.sentAt >= resendAfterMs(this.#settings);
        if (due) this.#send(member, flight.entries, now, flight.batch);
      } else if (
        this.#joined &&
        this.#store.outboxCount() > 0 &&
        (!flight || now.mono >= flight.notBefore)
      ) {
        this.#sendNext(member, now);
      }
    }
  }

  #evict(): void {
    let room = Math.min(EVICTED_PER_TURN, OUTBOX_HIGH - this.#store.outboxCount());
    for (const host of this.#evicted) {
      if (room <= 0) return;
      if (this.#isOpen(host)) continue;
      const items = this.#store.takeQueued(host, room);
      room -= items.length;
      const owner = this.#view.owner(host) ?? '';
      for (const item of items) this.#store.addToOutbox(host, owner, item);
      if (this.#store.queuedOf(host) === 0) this.#evicted.delete(host);
    }
  }

  #sendNext(member: Member, now: Instant): void {
    const entries: OutboxEntry[] = [];
    let chars = 0;
    for (const entry of this.#store.outboxOf(member.card.id, BATCH_URLS_MAX)) {
      chars += charsOf(entry.item);
      if (entries.length > 0 && chars > BATCH_CHARS_MAX) break;
      entries.push(entry);
    }
    if (entries.length > 0) this.#send(member, entries, now);
    else this.#flights.delete(member.card.id);
  }

  #send(
    to: Member,
    entries: readonly OutboxEntry[],
    now: Instant,
    batch: number = ++this.#lastBatch,
  ): void {
    this.#flights.set(to.card.id, { batch, entries, sentAt: now.mono, notBefore: 0 });
    const urls = entries.map((entry) => entry.item);
    this.#outbound.toMember(to, { type: 'URLS', batch, urls });
  }
}

function charsOf(item: UrlItem): number {
  return item.url.length + (item.fetchUrl?.length ?? 0) + (item.referrer?.length ?? 0) + 40;
}
