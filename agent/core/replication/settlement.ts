// Settles fetched pages when all their links are safe (PROTOCOL rule 13): none is in the outbox,
// and links to other hosts of this agent are at those hosts' backups. State is kept in memory: on
// disk, an unsettled page is one without a *done* number. Unsettled pages of an earlier run wait
// until all that was in the outbox at the start has left it and all copies are complete. The visits
// pause if too many pages are unsettled.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Host } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import { Unreplicated } from './unreplicated.ts';

/** Where the links of a page were stored. */
export interface LinkPlaces {
  /** Outbox entries of links to hosts of other agents. */
  readonly outboxIds: ReadonlySet<number>;
  /** Hosts of this agent that got links, with the event number that their backups must reach. */
  readonly hosts: ReadonlyMap<Host, number>;
}

/** Made by `begin`; only the settlement changes it. */
export interface UnsettledPage {
  readonly host: Host;
  readonly url: string;
  /** The page is not recorded, or not all of its links are routed: it cannot settle yet. */
  isArriving: boolean;
  /** Number of its outbox entries that are not acknowledged. */
  open: number;
  /** Other hosts of this agent, with the number up to which their backups must have them. */
  readonly needs: Map<Host, number>;
  /** The host in `needs` at which the last check stopped, and where to continue; null: it ended. */
  stopped: { readonly at: MapIterator<[Host, number]>; readonly host: Host } | null;
  /** The page must not be settled: it was fetched again, deleted or not recorded. */
  isDropped: boolean;
}

type SettlementSettings = Pick<CoreSettings, 'bounds' | 'suspectAfterMs'>;

/** The state of the copies, on which settling depends. */
export interface Copies {
  isSafe(host: Host, n: number): boolean;
  readonly isQuiet: boolean;
}

/** Fraction of `suspectAfterMs` after which a missing copy no longer makes the visits pause. */
const LATE = 0.25;
/** Pages of an earlier run settled in one turn. */
const RESTORED_PER_TURN = 500;

export class Settlement {
  readonly #view: Pick<View, 'joined'>;
  readonly #store: Store;
  readonly #copies: Copies;
  readonly #settings: SettlementSettings;
  readonly #unreplicated: Unreplicated;
  /** Pages by the outbox entries for which they wait. */
  readonly #byOutbox = new Map<number, UnsettledPage[]>();
  /** Pages by the hosts in their `needs`. */
  readonly #byHost = new Map<Host, Set<UnsettledPage>>();
  /** Pages of this run, by `host url`. Filled by `begin`, emptied as they settle or are dropped. */
  readonly #unsettled = new Map<string, UnsettledPage>();
  /** The same pages by their own hosts. */
  readonly #ofHost = new Map<Host, Set<UnsettledPage>>();
  /** Number of outbox entries for which the pages of each host wait. */
  readonly #open = new Map<Host, number>();
  /** The last outbox entry of the previous run; null: all its pages are settled. */
  #restoreUpTo: number | null = null;
  /** The pages to check after a change of the view; null: all are checked. */
  #retried: Iterator<UnsettledPage> | null = null;
  /** Number of pages recorded in this run. */
  fetched = 0;

  constructor(
    view: Pick<View, 'joined'>,
    store: Store,
    copies: Copies,
    settings: SettlementSettings,
  ) {
    this.#view = view;
    this.#store = store;
    this.#settings = settings;
    this.#copies = copies;
    this.#unreplicated = new Unreplicated((host, n) => copies.isSafe(host, n));
  }

  /** Called at the start: pages of earlier runs wait for the outbox up to this id. */
  restore(lastOutboxId: number): void {
    this.#restoreUpTo = this.#store.unsettled(1).length > 0 ? lastOutboxId : null;
  }

  get isQuiet(): boolean {
    return this.#unsettled.size === 0 && this.#restoreUpTo === null;
  }

  /** Whether the visits must pause: a crash would repeat too many requests, or memory is short. */
  isFull(now: Instant): boolean {
    const { bounds, suspectAfterMs } = this.#settings;
    if (this.#unsettled.size >= bounds.unsettled) return true;
    return this.#unreplicated.count(now.mono - suspectAfterMs * LATE) >= bounds.unreplicated;
  }

  get count(): number {
    return this.#unsettled.size;
  }

  hasUnsettled(host: Host): boolean {
    return this.#ofHost.has(host);
  }

  /** Begins a page whose links are being routed; `recorded` or `withdrawn` follows. */
  begin(host: Host, url: string): UnsettledPage {
    const page: UnsettledPage = {
      host,
      url,
      isArriving: true,
      open: 0,
      needs: new Map(),
      stopped: null,
      isDropped: false,
    };
    const earlier = this.#unsettled.get(keyOf(page));
    // The page was fetched again before it was settled: the links of the earlier response are void.
    if (earlier) this.#drop(earlier);
    this.#unsettled.set(keyOf(page), page);
    append(this.#ofHost, host, page);
    return page;
  }

  /** Adds the places of some of the page's links. */
  linksWentTo(page: UnsettledPage, { outboxIds, hosts }: LinkPlaces): void {
    if (page.isDropped) return;
    for (const id of outboxIds) {
      const pages = this.#byOutbox.get(id) ?? [];
      if (pages.includes(page)) continue;
      pages.push(page);
      this.#byOutbox.set(id, pages);
      this.#addOpen(page, 1);
    }
    for (const [host, n] of hosts) this.#need(page, host, n);
  }

  #addOpen(page: UnsettledPage, entries: number): void {
    page.open += entries;
    const open = this.openOf(page.host) + entries;
    if (open > 0) this.#open.set(page.host, open);
    else this.#open.delete(page.host);
  }

  /** Number of outbox entries for which the host's pages wait, counted for each page. */
  openOf(host: Host): number {
    return this.#open.get(host) ?? 0;
  }

  #need(page: UnsettledPage, host: Host, n: number): void {
    if (host === page.host) return;
    page.needs.set(host, Math.max(n, page.needs.get(host) ?? 0));
    // The numbers of a host only grow, so its pages stay in the order of the numbers that they
    // need.
    this.#byHost.get(host)?.delete(page);
    append(this.#byHost, host, page);
  }

  /** The page is recorded, and all its links are routed. */
  recorded(page: UnsettledPage, now: Instant): void {
    if (page.isDropped) return;
    page.isArriving = false;
    this.#unreplicated.fetched(keyOf(page), now.mono);
    this.fetched++;
    this.#try(page);
  }

  /** The response has not become a page. */
  withdrawn(page: UnsettledPage): void {
    if (!page.isDropped) this.#drop(page);
  }

  /** Settles the page if its links are safe in the current view. */
  #try(page: UnsettledPage): void {
    if (!this.#view.joined || page.isDropped || page.isArriving || page.open > 0) return;
    if (!this.#isSafe(page)) return;
    for (const host of page.needs.keys()) remove(this.#byHost, host, page);
    this.#unsettled.delete(keyOf(page));
    remove(this.#ofHost, page.host, page);
    this.#store.settle(page.host, page.url);
    this.#unreplicated.settled(keyOf(page), page.host, this.#store.lastNumber(page.host));
  }

  /**
   * Whether all hosts that the page needs are at their backups. There may be thousands, so a check
   * continues where the last one stopped. When it reaches the end, all hosts are checked once more.
   */
  #isSafe(page: UnsettledPage): boolean {
    const { needs, stopped } = page;
    if (stopped) {
      const n = needs.get(stopped.host);
      if (n !== undefined && !this.#copies.isSafe(stopped.host, n)) return false;
      if (!this.#checkFrom(page, stopped.at)) return false;
    }
    return this.#checkFrom(page, needs.entries());
  }

  #checkFrom(page: UnsettledPage, at: MapIterator<[Host, number]>): boolean {
    for (let next = at.next(); !next.done; next = at.next()) {
      const [host, n] = next.value;
      if (this.#copies.isSafe(host, n)) continue;
      page.stopped = { at, host };
      return false;
    }
    page.stopped = null;
    return true;
  }

  /**
   * Entries have left the outbox: their owner has acknowledged them or, with `home`, they were
   * stored here on that host, whose backups must have them.
   */
  left(outboxIds: readonly number[], home?: { readonly host: Host; readonly n: number }): void {
    for (const id of outboxIds) {
      const pages = this.#byOutbox.get(id);
      if (!pages) continue;
      this.#byOutbox.delete(id);
      for (const page of pages) {
        this.#addOpen(page, -1);
        if (home && !page.isDropped) this.#need(page, home.host, home.n);
        this.#try(page);
      }
    }
  }

  /**
   * The host's copies have progressed. Thousands of pages may wait for a copy that is far behind,
   * so this checks only those that may settle now.
   */
  progressed(host: Host): void {
    this.#unreplicated.progressed(host);
    for (const page of this.#byHost.get(host) ?? []) {
      if (page.stopped !== null && page.stopped.host !== host) continue;
      this.#try(page);
      // The pages behind it need the same number of the host or a higher one.
      if (page.stopped?.host === host) break;
    }
  }

  /** Another agent owns the host now and has its rows at its backups: pages need it no longer. */
  returned(host: Host): void {
    this.#unreplicated.returned(host);
    const pages = this.#byHost.get(host);
    if (!pages) return;
    this.#byHost.delete(host);
    for (const page of pages) {
      page.needs.delete(host);
      this.#try(page);
    }
  }

  /** The host's rows were deleted here: its new owner fetches unsettled pages again. */
  dropped(host: Host): void {
    for (const page of [...(this.#ofHost.get(host) ?? [])]) this.#drop(page);
  }

  #drop(page: UnsettledPage): void {
    this.#unsettled.delete(keyOf(page));
    this.#unreplicated.forget(keyOf(page));
    for (const other of page.needs.keys()) remove(this.#byHost, other, page);
    page.needs.clear();
    page.isDropped = true;
    remove(this.#ofHost, page.host, page);
  }

  /** Every page may now need other backups. */
  viewChanged(): void {
    this.#unreplicated.viewChanged();
    this.#retried = this.#unsettled.values();
  }

  get isBusy(): boolean {
    return this.#view.joined && this.#retried !== null;
  }

  /** Checks some pages after a change of the view. */
  pump(): void {
    if (!this.#view.joined) return;
    for (let left = this.#settings.bounds.triedPages; this.#retried && left > 0; left--) {
      const next = this.#retried.next();
      if (next.done) this.#retried = null;
      else this.#try(next.value);
    }
  }

  /**
   * Settles pages of an earlier run when they are safe, some each turn. Called only when the
   * streams of the current view contain all hosts.
   */
  settleRestored(): void {
    if (this.#restoreUpTo === null || !this.#view.joined || !this.#copies.isQuiet) return;
    const first = this.#store.outboxFirst();
    if (first !== null && first <= this.#restoreUpTo) return;
    const pages = this.#store.unsettled(RESTORED_PER_TURN + this.#unsettled.size);
    let settled = 0;
    for (const page of pages) {
      if (this.#unsettled.has(keyOf(page))) continue;
      this.#store.settle(page.host, page.url);
      if (++settled >= RESTORED_PER_TURN) return;
    }
    if (settled === 0) this.#restoreUpTo = null;
  }
}

function keyOf(page: { readonly host: Host; readonly url: string }): string {
  return `${page.host} ${page.url}`;
}

function append(to: Map<Host, Set<UnsettledPage>>, host: Host, page: UnsettledPage): void {
  const pages = to.get(host);
  if (pages) pages.add(page);
  else to.set(host, new Set([page]));
}

function remove(from: Map<Host, Set<UnsettledPage>>, host: Host, page: UnsettledPage): void {
  const pages = from.get(host);
  pages?.delete(page);
  if (pages?.size === 0) from.delete(host);
}
