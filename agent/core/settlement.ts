// Which fetched pages are not settled yet. A page is settled when every link found on it is safe
// (PROTOCOL rule 13): none of them in the outbox, and those on other hosts of this agent at all of
// those hosts' backups. Exact for the pages of this life; pages of an earlier life wait, more
// strictly, until all that was in the outbox at the start has left it and the copies of everything
// have caught up. In memory only: the durable mark of an unsettled page is that it has no *done*
// number. When too many pages wait, for the outbox or for a slow backup, the visits are held back.

import type { Instant } from '../../failure-detector/instant.ts';
import type { Host } from './messages.ts';
import type { CoreSettings } from './settings.ts';
import type { Store } from './store.ts';
import { Uncopied } from './uncopied.ts';

/** Where the links of a page went. */
export interface LinkPlaces {
  /** Outbox entries of those that belong to others. */
  readonly outboxIds: ReadonlySet<number>;
  /** Other hosts of this agent that got links, with the last number each had then. */
  readonly hosts: ReadonlyMap<Host, number>;
}

interface UnsettledPage {
  readonly host: Host;
  readonly url: string;
  /** Outbox entries of its links that are not acknowledged. */
  open: number;
  readonly needs: Map<Host, number>;
  /** Its row was deleted: what its outbox entries still wait for is no concern of it. */
  gone: boolean;
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
  readonly #store: Store;
  readonly #copies: Copies;
  readonly #settings: SettlementSettings;
  readonly #uncopied: Uncopied;
  readonly #byOutbox = new Map<number, UnsettledPage[]>();
  readonly #byHost = new Map<Host, Set<UnsettledPage>>();
  /** Pages of this life that wait, by `host url`. */
  readonly #unsettled = new Map<string, UnsettledPage>();
  /** How many of them each host has. */
  readonly #counts = new Map<Host, number>();
  /** The last outbox entry of the former life; null when its pages are all settled. */
  #restoreUpTo: number | null = null;
  #tryAll = false;
  joined = false;
  /** Pages in all. */
  fetched = 0;

  constructor(store: Store, copies: Copies, settings: SettlementSettings) {
    this.#store = store;
    this.#settings = settings;
    this.#copies = copies;
    this.#uncopied = new Uncopied((host, n) => copies.isSafe(host, n));
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
    return this.#uncopied.count(now.mono - suspectAfterMs * LATE) >= bounds.uncopied;
  }

  get count(): number {
    return this.#unsettled.size;
  }

  hasUnsettled(host: Host): boolean {
    return this.#counts.has(host);
  }

  /** A page was recorded whose links went to these places. */
  add(host: Host, url: string, places: LinkPlaces, now: Instant): void {
    const page: UnsettledPage = {
      host,
      url,
      open: places.outboxIds.size,
      needs: new Map(places.hosts),
      gone: false,
    };
    page.needs.delete(host);
    const earlier = this.#unsettled.get(keyOf(page));
    // Fetched again before it was settled: what the earlier answer named settles this one not.
    if (earlier) this.#drop(earlier);
    this.#unsettled.set(keyOf(page), page);
    this.#uncopied.fetched(keyOf(page), now.mono);
    this.fetched++;
    this.#counts.set(host, (this.#counts.get(host) ?? 0) + 1);
    for (const id of places.outboxIds) {
      const pages = this.#byOutbox.get(id);
      if (pages) pages.push(page);
      else this.#byOutbox.set(id, [page]);
    }
    for (const other of page.needs.keys()) this.#index(other, page);
    this.#try(page);
  }

  #index(host: Host, page: UnsettledPage): void {
    const pages = this.#byHost.get(host);
    if (pages) pages.add(page);
    else this.#byHost.set(host, new Set([page]));
  }

  /** By today's view: a backup that joined since the link was safe must have it, too. */
  #try(page: UnsettledPage): void {
    if (!this.joined || page.gone || page.open > 0) return;
    for (const [host, n] of page.needs) if (!this.#copies.isSafe(host, n)) return;
    for (const host of page.needs.keys()) {
      const pages = this.#byHost.get(host);
      pages?.delete(page);
      if (pages?.size === 0) this.#byHost.delete(host);
    }
    this.#unsettled.delete(keyOf(page));
    this.#uncount(page.host);
    this.#store.settle(page.host, page.url);
    this.#uncopied.settled(keyOf(page), page.host, this.#store.lastNumber(page.host));
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
        page.open--;
        if (home && home.host !== page.host && !page.gone) {
          page.needs.set(home.host, Math.max(home.n, page.needs.get(home.host) ?? 0));
          this.#index(home.host, page);
        }
        this.#try(page);
      }
    }
  }

  /** The host's backups have more of it than before. */
  progressed(host: Host): void {
    this.#uncopied.progressed(host);
    for (const page of [...(this.#byHost.get(host) ?? [])]) this.#try(page);
  }

  /** Another owns the host now, and has its rows at its own backups: this agent's are no concern. */
  returned(host: Host): void {
    this.#uncopied.returned(host);
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
    if (!this.#counts.has(host)) return;
    for (const page of [...this.#unsettled.values()]) if (page.host === host) this.#drop(page);
  }

  #drop(page: UnsettledPage): void {
    this.#unsettled.delete(keyOf(page));
    this.#uncopied.forget(keyOf(page));
    for (const other of page.needs.keys()) this.#byHost.get(other)?.delete(page);
    page.needs.clear();
    page.gone = true;
    this.#uncount(page.host);
  }

  #uncount(host: Host): void {
    const left = (this.#counts.get(host) ?? 1) - 1;
    if (left > 0) this.#counts.set(host, left);
    else this.#counts.delete(host);
  }

  /** Other backups, or none: what was waited for may have changed for every page. */
  viewChanged(): void {
    this.#tryAll = true;
  }

  pump(): void {
    if (this.#tryAll && this.joined) {
      this.#tryAll = false;
      this.#uncopied.viewChanged();
      for (const page of [...this.#unsettled.values()]) this.#try(page);
    }
    this.#restore();
  }

  /** Settles pages of an earlier life once their time has come, some each turn. */
  #restore(): void {
    if (this.#restoreUpTo === null || !this.joined || !this.#copies.isQuiet) return;
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
