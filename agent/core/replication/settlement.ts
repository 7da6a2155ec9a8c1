// Which fetched pages are not settled yet. A page is settled when every link found on it is safe
// (PROTOCOL rule 13): none of them in the outbox, and those on other hosts of this agent at all of
// those hosts' backups. Exact for the pages of this life; pages of an earlier life wait, more
// strictly, until all that was in the outbox at the start has left it and the copies of everything
// have caught up. In memory only: the durable mark of an unsettled page is that it has no *done*
// number. When too many pages wait, for the outbox or for a slow backup, the visits are held back.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Host } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import { Unreplicated } from './unreplicated.ts';

/** Where the links of a page went. */
export interface LinkPlaces {
  /** Outbox entries of those that belong to others. */
  readonly outboxIds: ReadonlySet<number>;
  /** Other hosts of this agent that got links, with the last number each had then. */
  readonly hosts: ReadonlyMap<Host, number>;
}

/** Made by `begin`, and changed by the settlement alone. */
export interface UnsettledPage {
  readonly host: Host;
  readonly url: string;
  /** Not all of its links are routed, or it is not recorded: it cannot settle yet. */
  isArriving: boolean;
  /** Outbox entries of its links that are not acknowledged. */
  open: number;
  readonly needs: Map<Host, number>;
  /** Where the look at `needs` stopped, and at which host, which was not safe; null: none stopped. */
  stopped: { readonly at: MapIterator<[Host, number]>; readonly host: Host } | null;
  /** Its row was deleted: what its outbox entries still wait for is no concern of it. */
  isDropped: boolean;
}

/** Copies at the backups, as far as settling depends on them. */
type SettlementSettings = Pick<CoreSettings, 'bounds' | 'suspectAfterMs'>;

export interface Copies {
  isSafe(host: Host, n: number): boolean;
  readonly isQuiet: boolean;
}

/** Of `suspectAfterMs`: who has not copied a page by then is slow, and not waited for. */
const LATE = 0.25;
/** Pages of an earlier life settled in one turn. */
const RESTORED_PER_TURN = 500;

export class Settlement {
  readonly #view: Pick<View, 'joined'>;
  readonly #store: Store;
  readonly #copies: Copies;
  readonly #settings: SettlementSettings;
  readonly #unreplicated: Unreplicated;
  readonly #byOutbox = new Map<number, UnsettledPage[]>();
  readonly #byHost = new Map<Host, Set<UnsettledPage>>();
  /** Pages of this life that wait, by `host url`. */
  readonly #unsettled = new Map<string, UnsettledPage>();
  /** The same by their hosts. */
  readonly #ofHost = new Map<Host, Set<UnsettledPage>>();
  /** Outbox entries that the pages of each host wait for. */
  readonly #open = new Map<Host, number>();
  /** The last outbox entry of the former life; null when its pages are all settled. */
  #restoreUpTo: number | null = null;
  /** All pages that wait, to be tried again after a change of the view; null: all have been. */
  #retried: Iterator<UnsettledPage> | null = null;
  /** Pages in all. */
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

  /** At start: whatever an earlier life left unsettled waits for all that its outbox held. */
  restore(lastOutboxId: number): void {
    this.#restoreUpTo = this.#store.unsettled(1).length > 0 ? lastOutboxId : null;
  }

  get isQuiet(): boolean {
    return this.#unsettled.size === 0 && this.#restoreUpTo === null;
  }

  /** Whether the visits are to pause, for what would be fetched again or takes memory. */
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

  /** The links of a page are being routed; it is recorded when all are. */
  begin(host: Host, url: string): UnsettledPage {
    const page: UnsettledPage = {
      ...{ host, url },
      isArriving: true,
      open: 0,
      needs: new Map(),
      stopped: null,
      isDropped: false,
    };
    const earlier = this.#unsettled.get(keyOf(page));
    // Fetched again before it was settled: what the earlier answer named settles this one not.
    if (earlier) this.#drop(earlier);
    this.#unsettled.set(keyOf(page), page);
    append(this.#ofHost, host, page);
    return page;
  }

  /** Some more of its links went to these places. */
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

  /** Outbox entries that the pages of the host wait for; one that two pages wait for counts twice. */
  openOf(host: Host): number {
    return this.#open.get(host) ?? 0;
  }

  #need(page: UnsettledPage, host: Host, n: number): void {
    if (host === page.host) return;
    page.needs.set(host, Math.max(n, page.needs.get(host) ?? 0));
    // Numbers of a host only grow, so its pages are in the order of the numbers they need.
    this.#byHost.get(host)?.delete(page);
    append(this.#byHost, host, page);
  }

  /** Its record is written, and all of its links are routed. */
  recorded(page: UnsettledPage, now: Instant): void {
    if (page.isDropped) return;
    page.isArriving = false;
    this.#unreplicated.fetched(keyOf(page), now.mono);
    this.fetched++;
    this.#try(page);
  }

  /** Its request ended in another way: there is no page. */
  withdrawn(page: UnsettledPage): void {
    if (!page.isDropped) this.#drop(page);
  }

  /** By today's view: a backup that joined since the link was safe must have it, too. */
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
   * Whether all of the page's hosts are at their backups. A page may need thousands of hosts, so a
   * look goes on where the last one stopped; in the end all are looked at once more together.
   */
  #isSafe(page: UnsettledPage): boolean {
    const { needs, stopped } = page;
    if (stopped) {
      const n = needs.get(stopped.host);
      if (n !== undefined && !this.#copies.isSafe(stopped.host, n)) return false;
      if (!this.#lookOn(page, stopped.at)) return false;
    }
    return this.#lookOn(page, needs.entries());
  }

  #lookOn(page: UnsettledPage, at: MapIterator<[Host, number]>): boolean {
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
   * These entries have left the outbox: acknowledged by their owner, or, with `home`, recorded
   * here on that host, whose backups must have them before they are safe.
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
   * The host's backups have more of it than before. Thousands of pages may wait for a copy that is
   * far behind, so only the pages are tried that this acknowledgement may settle.
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

  /** Another owns the host now, and has its rows at its own backups: this agent's are no concern. */
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

  /** The host's rows were deleted here: whoever has the host fetches again what was not settled. */
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

  /** Other backups, or none: what was waited for may have changed for every page. */
  viewChanged(): void {
    this.#unreplicated.viewChanged();
    this.#retried = this.#unsettled.values();
  }

  /** The next turn has pages to try. */
  get isBusy(): boolean {
    return this.#view.joined && this.#retried !== null;
  }

  /** Tries some of the pages that wait. */
  pump(): void {
    if (!this.#view.joined) return;
    for (let left = this.#settings.bounds.triedPages; this.#retried && left > 0; left--) {
      const next = this.#retried.next();
      if (next.done) this.#retried = null;
      else this.#try(next.value);
    }
  }

  /**
   * Settles pages of an earlier life once their time has come, some each turn. Called while all
   * hosts are given to the streams of the present view.
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
