// Routes each URL to the owner of its host. URLs of this agent are recorded. All others go to the
// outbox, and from there to their owners, one batch at a time for each member, again after
// `resendAfterMs` without an answer. URLs that their owner has acknowledged or announced
// (`url-announcements.ts`) are not sent again while the view stays the same.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { View } from '../membership/view.ts';
import type { Whereabouts } from '../membership/whereabouts.ts';
import type { Backlog, Task } from '../protocol/backlog.ts';
import type { OutboxEntry, PlacedEntry, SkipReason, Store } from '../protocol/core-store.ts';
import type { AgentId, Host, MemberCard, UrlItem } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import type { PlacedUrl, Visits } from '../protocol/visits-port.ts';
import type { LinkPlaces, Settlement } from '../replication/settlement.ts';
import type { SeenFilter } from './seen-filter.ts';

/** Maximum characters of the texts of a batch, far below the maximum of a frame. */
const BATCH_CHARS_MAX = 96 * 1024;

/** Above all ids of the outbox. */
const ALL = Number.MAX_SAFE_INTEGER;

/** The batch of a member that is not acknowledged. */
interface Flight {
  readonly batch: number;
  entries: readonly OutboxEntry[];
  firstAt: number;
  sentAt: number;
  /** The peer did not own all URLs; they are sent again only after this. Monotonic milliseconds. */
  notBefore: number;
}

interface RoutingParts {
  readonly settings: CoreSettings;
  readonly store: Store;
  readonly view: View;
  readonly whereabouts: Whereabouts;
  readonly outbound: Outbound;
  readonly seen: SeenFilter;
  readonly settlement: Settlement;
  readonly visits: Pick<Visits, 'schedule'>;
  readonly admit: (item: UrlItem) => SkipReason | null;
  readonly hostOf: (url: string) => Host | null;
  readonly backlog: Pick<Backlog, 'add' | 'delete'>;
}

export class Routing {
  readonly #p: RoutingParts;
  readonly #flights = new Map<AgentId, Flight>();
  /** Owners outside the view, until nothing is left to send to them. */
  readonly #far = new Map<AgentId, MemberCard>();
  /** Hosts that are looked up again, with the agent that does not answer. Bound: those in flight. */
  readonly #doubted = new Map<Host, AgentId>();
  /** Up to this id, the entries of the outbox have their owners in the present view. */
  #placedTo = ALL;
  readonly #replacing: Task = { step: () => this.#placePiece() };
  #lastBatch = 0;
  #joined = false;

  constructor(parts: RoutingParts) {
    this.#p = parts;
  }

  reset(): void {
    this.#flights.clear();
    this.#far.clear();
    this.#doubted.clear();
    this.#joined = false;
    this.#p.backlog.delete(this.#replacing);
  }

  get isQuiet(): boolean {
    return this.#p.store.outboxCount() === 0;
  }

  /** Routes URLs whose hosts are not known yet, such as seeds. */
  route(items: readonly UrlItem[]): LinkPlaces {
    return this.routeLinks(
      items.flatMap((item) => {
        const host = this.#p.hostOf(item.url);
        return host === null ? [] : { host, item };
      }),
    );
  }

  /** Records the links of a page or puts them into the outbox. */
  routeLinks(links: readonly PlacedUrl[]): LinkPlaces {
    const outboxIds = new Set<number>();
    const hosts = new Map<Host, number>();
    // Most links of a page have the host of the link before.
    let lastHost: Host | null = null;
    let owner: AgentId | undefined;
    let isMine = false;
    for (const { host, item } of links) {
      if (host !== lastHost) {
        lastHost = host;
        owner = this.#ownerOf(host);
        isMine = this.#joined && owner === this.#p.settings.id;
        if (isMine) hosts.set(host, 0);
      }
      if (isMine) this.#keep(host, item);
      else if (!this.#isTaken(item, owner)) {
        outboxIds.add(this.#p.store.addToOutbox(host, owner ?? '', item));
      }
    }
    for (const host of hosts.keys()) hosts.set(host, this.#p.store.lastNumber(host));
    return { outboxIds, hosts };
  }

  /** The owner in the view, or outside it as far as it is known; undefined: it is unknown. */
  #ownerOf(host: Host): AgentId | undefined {
    const owner = this.#p.view.owner(host);
    if (owner !== undefined) return owner;
    const card = this.#p.whereabouts.far(host);
    if (card && !this.#p.view.has(card.id)) this.#far.set(card.id, card);
    return card?.id;
  }

  /** The owners of these hosts outside the view have been found. */
  located(hosts: readonly Host[]): void {
    for (const host of hosts) {
      const owner = this.#ownerOf(host);
      if (owner === undefined) continue;
      this.#p.store.rerouteHost(host, '', owner);
      const doubted = this.#doubted.get(host);
      this.#doubted.delete(host);
      if (doubted === undefined || doubted === owner) continue;
      this.#p.store.rerouteHost(host, doubted, owner);
      this.#flights.delete(doubted);
    }
  }

  /**
   * Whether another owner has the URL, by what it said in the present view. Before the join the filter
   * may hold URLs that this agent recorded for hosts of others, which are not safe yet.
   */
  #isTaken({ url, depth, sitemap }: UrlItem, owner: AgentId | undefined): boolean {
    // An owner that accepted it as a link does not know that it is a sitemap.
    return this.#joined && !sitemap && this.#p.seen.has(url, depth === 0, owner);
  }

  /** Records a URL on a host of this agent. Returns the last number of the host. */
  enqueue(host: Host, item: UrlItem): number {
    this.#keep(host, item);
    return this.#p.store.lastNumber(host);
  }

  #keep(host: Host, item: UrlItem): void {
    const root = item.depth === 0;
    // If it was recorded as a link, it is not known to be a sitemap.
    if (!item.sitemap && this.#p.seen.has(item.url, root)) return;
    this.#p.seen.add(item.url, root);
    const skip = this.#p.admit(item);
    const fresh = this.#p.store.enqueue(host, item, skip) === 'new';
    if (fresh && skip === null) this.#p.visits.schedule(host);
  }

  onUrlsAck(from: AgentId, batch: number, notMine: readonly number[], now: Instant): void {
    const flight = this.#flights.get(from);
    if (!flight || flight.batch !== batch) return;
    const left = new Set(notMine);
    const taken = flight.entries.filter((_, index) => !left.has(index));
    this.#p.settlement.left(this.#p.store.removeTaken(taken));
    for (const { item } of taken) this.#p.seen.addTaken(from, item.url, item.depth === 0);
    if (left.size === 0) {
      this.#flights.delete(from);
      return;
    }
    const others = flight.entries.filter((_, index) => left.has(index));
    this.#lookAgain(from, others);
    // The views differ, and will agree within a heartbeat interval or two.
    flight.entries = [];
    flight.notBefore = now.mono + resendAfterMs(this.#p.settings);
  }

  /** The peer found a URL of the batch malformed. Sends half of the batch; one URL alone fails. */
  onBatchRefused(from: AgentId, batch: number, reason: string, now: Instant): void {
    const to = this.#cardOf(from);
    const flight = to && this.#flights.get(from);
    if (!flight || flight.batch !== batch) return;
    const only = flight.entries.length === 1 ? flight.entries[0] : undefined;
    if (!only) {
      this.#send(to, flight.entries.slice(0, Math.ceil(flight.entries.length / 2)), now);
      return;
    }
    const host = this.#p.hostOf(only.item.url) ?? '';
    const error = `refused by peer: ${reason}`.slice(0, 200);
    this.#p.store.failUrl(host, only.item, error, now.mono);
    this.#p.store.removeFromOutbox([only.id]);
    this.#p.settlement.left([only.id]);
    this.#flights.delete(from);
  }

  #cardOf(id: AgentId): MemberCard | undefined {
    return this.#p.view.get(id)?.card ?? this.#far.get(id);
  }

  /**
   * The agent has not acknowledged the batch for long. It may only wait for its backups, so the batch
   * is sent again to it until a look-up finds another owner.
   */
  #doubt(owner: AgentId, flight: Flight, now: Instant): void {
    flight.firstAt = now.mono;
    for (const { item } of flight.entries) {
      const host = this.#p.hostOf(item.url) ?? '';
      if (this.#p.view.owner(host) !== undefined || this.#doubted.has(host)) continue;
      this.#doubted.set(host, owner);
      this.#p.whereabouts.lookAgain(host);
    }
  }

  /** The agent does not own the hosts of these entries. */
  #lookAgain(owner: AgentId, entries: readonly OutboxEntry[]): void {
    for (const host of new Set(entries.map(({ item }) => this.#p.hostOf(item.url) ?? ''))) {
      if (this.#p.view.owner(host) !== undefined) continue;
      this.#p.store.rerouteHost(host, owner, '');
      this.#p.whereabouts.lookAgain(host);
    }
  }

  /** This agent has joined, and takes the entries of its own hosts from the outbox. */
  join(): void {
    this.#joined = true;
    this.viewChanged();
  }

  /** Routes the outbox again, in pieces; entries that wait for this are not sent. */
  viewChanged(): void {
    this.#p.seen.clear();
    if (!this.#joined) return;
    this.#flights.clear();
    this.#placedTo = this.isQuiet ? ALL : 0;
    if (!this.isQuiet) this.#p.backlog.add(this.#replacing);
  }

  #placePiece(): boolean {
    const entries = this.#p.store.outboxAfter(this.#placedTo, this.#p.settings.bounds.pieceUrls);
    for (const entry of entries) this.#place(entry);
    this.#placedTo = entries.at(-1)?.id ?? ALL;
    return this.#placedTo === ALL;
  }

  #place({ id, host, owner: was, item }: PlacedEntry): void {
    const owner = this.#ownerOf(host) ?? '';
    if (owner === this.#p.settings.id) {
      const n = this.enqueue(host, item);
      this.#p.store.removeFromOutbox([id]);
      this.#p.settlement.left([id], { host, n });
    } else if (owner !== was) this.#p.store.rerouteOutbox(id, owner);
  }

  /** Sends the next batch of each member, or resends an unanswered one. */
  pump(now: Instant): void {
    for (const { card } of this.#p.view.members()) this.#pumpTo(card, now);
    for (const card of [...this.#far.values()]) {
      const flight = this.#flights.get(card.id);
      const isLate = flight && now.mono - flight.firstAt >= this.#p.settings.suspectAfterMs;
      if (isLate) this.#doubt(card.id, flight, now);
      this.#pumpTo(card, now);
      if (!this.#flights.has(card.id)) this.#far.delete(card.id);
    }
  }

  #pumpTo(card: MemberCard, now: Instant): void {
    const flight = this.#flights.get(card.id);
    if (flight && flight.entries.length > 0) {
      const due = now.mono - flight.sentAt >= resendAfterMs(this.#p.settings);
      if (due) this.#send(card, flight.entries, now, flight);
    } else if (
      this.#joined &&
      this.#p.store.outboxCount() > 0 &&
      (!flight || now.mono >= flight.notBefore)
    ) {
      this.#sendNext(card, now);
    }
  }

  #sendNext(to: MemberCard, now: Instant): void {
    const entries: OutboxEntry[] = [];
    let chars = 0;
    const { batchUrls } = this.#p.settings.bounds;
    for (const entry of this.#p.store.outboxOf(to.id, batchUrls, this.#placedTo)) {
      chars += charsOf(entry.item);
      if (entries.length > 0 && chars > BATCH_CHARS_MAX) break;
      entries.push(entry);
    }
    if (entries.length > 0) this.#send(to, entries, now);
    else this.#flights.delete(to.id);
  }

  #send(to: MemberCard, entries: readonly OutboxEntry[], now: Instant, earlier?: Flight): void {
    const batch = earlier?.batch ?? ++this.#lastBatch;
    const firstAt = earlier?.firstAt ?? now.mono;
    this.#flights.set(to.id, { batch, entries, firstAt, sentAt: now.mono, notBefore: 0 });
    const urls = entries.map((entry) => entry.item);
    this.#p.outbound.toCard(to, { type: 'URLS', batch, urls });
  }
}

function charsOf(item: UrlItem): number {
  return item.url.length + (item.fetchUrl?.length ?? 0) + (item.referrer?.length ?? 0) + 40;
}
