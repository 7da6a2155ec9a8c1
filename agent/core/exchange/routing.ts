// Sends each URL to the owner of its host. A URL that this agent owns is recorded. Any other goes to the
// outbox, and from there to its owner, one batch at a time for each member. The filter of repeats
// remembers URLs that an owner has acknowledged, here or to others (`known-urls.ts`), so they are not
// sent again while the view stays the same, however many pages link to them.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { Member, View } from '../membership/view.ts';
import type { Backlog, Task } from '../protocol/backlog.ts';
import type { OutboxEntry, PlacedEntry, SkipReason, Store } from '../protocol/core-store.ts';
import type { AgentId, Host, UrlItem } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import type { PlacedUrl, Visits } from '../protocol/visits-port.ts';
import type { LinkPlaces, Settlement } from '../replication/settlement.ts';
import type { SeenFilter } from './seen-filter.ts';

/** Characters of the texts of a batch: far under the frame's cap. */
const BATCH_CHARS_MAX = 96 * 1024;

/** Above every id of the outbox. */
const ALL = Number.MAX_SAFE_INTEGER;

interface Flight {
  readonly batch: number;
  entries: readonly OutboxEntry[];
  sentAt: number;
  /** Not mine, the peer said: tried again only after this. */
  notBefore: number;
}

export class Routing {
  readonly #settings: CoreSettings;
  readonly #store: Store;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #seen: SeenFilter;
  readonly #settlement: Settlement;
  readonly #visits: Pick<Visits, 'schedule'>;
  readonly #admit: (item: UrlItem) => SkipReason | null;
  readonly #hostOf: (url: string) => Host | null;
  readonly #flights = new Map<AgentId, Flight>();
  readonly #backlog: Pick<Backlog, 'add' | 'delete'>;
  /** Entries of the outbox up to this id have the owner that they have in the present view. */
  #placedTo = ALL;
  readonly #replacing: Task = { step: () => this.#placePiece() };
  #lastBatch = 0;
  #joined = false;

  constructor(parts: {
    settings: CoreSettings;
    store: Store;
    view: View;
    outbound: Outbound;
    seen: SeenFilter;
    settlement: Settlement;
    visits: Pick<Visits, 'schedule'>;
    admit: (item: UrlItem) => SkipReason | null;
    hostOf: (url: string) => Host | null;
    backlog: Pick<Backlog, 'add' | 'delete'>;
  }) {
    this.#settings = parts.settings;
    this.#store = parts.store;
    this.#view = parts.view;
    this.#outbound = parts.outbound;
    this.#seen = parts.seen;
    this.#settlement = parts.settlement;
    this.#visits = parts.visits;
    this.#admit = parts.admit;
    this.#hostOf = parts.hostOf;
    this.#backlog = parts.backlog;
  }

  reset(): void {
    this.#flights.clear();
    this.#joined = false;
    this.#backlog.delete(this.#replacing);
  }

  get isQuiet(): boolean {
    return this.#store.outboxCount() === 0;
  }

  /** Takes URLs whose hosts nobody has looked up yet, such as seeds, to where they belong. */
  route(items: readonly UrlItem[]): LinkPlaces {
    return this.routeLinks(
      items.flatMap((item) => {
        const host = this.#hostOf(item.url);
        return host === null ? [] : { host, item };
      }),
    );
  }

  /** Takes the found links of a page to where they belong. */
  routeLinks(links: readonly PlacedUrl[]): LinkPlaces {
    const outboxIds = new Set<number>();
    const hosts = new Map<Host, number>();
    // Most links of a page lead to the host of the one before.
    let lastHost: Host | null = null;
    let owner: AgentId | undefined;
    let isMine = false;
    for (const { host, item } of links) {
      if (host !== lastHost) {
        lastHost = host;
        owner = this.#view.owner(host);
        isMine = this.#joined && owner === this.#settings.id;
        if (isMine) hosts.set(host, 0);
      }
      if (isMine) this.#keep(host, item);
      else if (!this.#isTaken(item, owner)) {
        outboxIds.add(this.#store.addToOutbox(host, owner ?? '', item));
      }
    }
    for (const host of hosts.keys()) hosts.set(host, this.#store.lastNumber(host));
    return { outboxIds, hosts };
  }

  /**
   * Whether its owner has said so in this view, where that is another agent. Before this agent counts
   * the filter has what it recorded itself, for hosts that may be another's: that is not known safe.
   */
  #isTaken({ url, depth, sitemap }: UrlItem, owner: AgentId | undefined): boolean {
    // Taken as a link, it is not known there as a sitemap.
    return this.#joined && !sitemap && this.#seen.has(url, depth === 0, owner);
  }

  /** Records a URL on a host of this agent. Gives the last number of the host. */
  enqueue(host: Host, item: UrlItem): number {
    this.#keep(host, item);
    return this.#store.lastNumber(host);
  }

  #keep(host: Host, item: UrlItem): void {
    const root = item.depth === 0;
    // Recorded as a link, it is not known as a sitemap.
    if (!item.sitemap && this.#seen.has(item.url, root)) return;
    this.#seen.add(item.url, root);
    const skip = this.#admit(item);
    const fresh = this.#store.enqueue(host, item, skip) === 'new';
    if (fresh && skip === null) this.#visits.schedule(host);
  }

  onUrlsAck(from: Member, batch: number, notMine: readonly number[], now: Instant): void {
    const flight = this.#flights.get(from.card.id);
    if (!flight || flight.batch !== batch) return;
    const left = new Set(notMine);
    const taken = flight.entries.filter((_, index) => !left.has(index));
    this.#settlement.left(this.#store.removeTaken(taken));
    for (const { item } of taken) this.#seen.addTaken(from.card.id, item.url, item.depth === 0);
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
    this.#settlement.left([only.id]);
    this.#flights.delete(from.card.id);
  }

  /** Now this agent counts: its own entries come home. */
  join(): void {
    this.#joined = true;
    this.viewChanged();
  }

  /** The outbox is routed anew, in pieces; what is not yet is not sent. */
  viewChanged(): void {
    this.#seen.clear();
    if (!this.#joined) return;
    this.#flights.clear();
    this.#placedTo = this.isQuiet ? ALL : 0;
    if (!this.isQuiet) this.#backlog.add(this.#replacing);
  }

  #placePiece(): boolean {
    const entries = this.#store.outboxAfter(this.#placedTo, this.#settings.bounds.pieceUrls);
    for (const entry of entries) this.#place(entry);
    this.#placedTo = entries.at(-1)?.id ?? ALL;
    return this.#placedTo === ALL;
  }

  #place({ id, host, owner: was, item }: PlacedEntry): void {
    const owner = this.#view.owner(host) ?? '';
    if (owner === this.#settings.id) {
      const n = this.enqueue(host, item);
      this.#store.removeFromOutbox([id]);
      this.#settlement.left([id], { host, n });
    } else if (owner !== was) this.#store.rerouteOutbox(id, owner);
  }

  /** Sends what is due. */
  pump(now: Instant): void {
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

  #sendNext(member: Member, now: Instant): void {
    const entries: OutboxEntry[] = [];
    let chars = 0;
    const { batchUrls } = this.#settings.bounds;
    for (const entry of this.#store.outboxOf(member.card.id, batchUrls, this.#placedTo)) {
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
