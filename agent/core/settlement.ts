// Which fetched pages are not settled yet: a page is settled when every link found on it is safe
// (PROTOCOL rule 13), which here means that none of them is in the outbox any more. Exact for the
// pages of this life; pages of an earlier life wait, more strictly, until everything that was in
// the outbox at the start has left it. In memory only: the durable mark of an unsettled page is
// that it has no *done* number. Bounded by the outbox, which holds back the visits.

import type { Host } from './messages.ts';
import type { Store } from './store.ts';

interface UnsettledPage {
  readonly host: Host;
  readonly url: string;
  /** Outbox entries of its links that are not acknowledged. */
  open: number;
}

/** Pages of an earlier life settled in one turn. */
const RESTORED_PER_TURN = 500;

export class Settlement {
  readonly #store: Store;
  readonly #waiting = new Map<number, UnsettledPage[]>();
  /** Pages of this life that wait, as `host url`. */
  readonly #unsettled = new Set<string>();
  /** The last outbox entry of the former life; null when its pages are all settled. */
  #restoreUpTo: number | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** At start: whatever an earlier life left unsettled waits for all that its outbox held. */
  restore(lastOutboxId: number): void {
    this.#restoreUpTo = this.#store.unsettled(1).length > 0 ? lastOutboxId : null;
  }

  get isQuiet(): boolean {
    return this.#unsettled.size === 0 && this.#restoreUpTo === null;
  }

  get count(): number {
    return this.#unsettled.size;
  }

  /** A page was recorded whose links have these outbox entries; none: it is settled at once. */
  add(host: Host, url: string, outboxIds: ReadonlySet<number>): void {
    if (outboxIds.size === 0) {
      this.#store.settle(host, url);
      return;
    }
    const page: UnsettledPage = { host, url, open: outboxIds.size };
    this.#unsettled.add(`${host} ${url}`);
    for (const id of outboxIds) {
      const pages = this.#waiting.get(id);
      if (pages) pages.push(page);
      else this.#waiting.set(id, [page]);
    }
  }

  /** These entries have left the outbox: their URLs are safe elsewhere, or recorded here. */
  safe(outboxIds: readonly number[]): void {
    for (const id of outboxIds) {
      const pages = this.#waiting.get(id);
      if (!pages) continue;
      this.#waiting.delete(id);
      for (const page of pages) {
        if (--page.open > 0) continue;
        this.#unsettled.delete(`${page.host} ${page.url}`);
        this.#store.settle(page.host, page.url);
      }
    }
  }

  /** Settles pages of an earlier life once their time has come, some each turn. */
  pump(): void {
    if (this.#restoreUpTo === null) return;
    const first = this.#store.outboxFirst();
    if (first !== null && first <= this.#restoreUpTo) return;
    const pages = this.#store.unsettled(RESTORED_PER_TURN + this.#unsettled.size);
    let settled = 0;
    for (const { host, url } of pages) {
      if (this.#unsettled.has(`${host} ${url}`)) continue;
      this.#store.settle(host, url);
      settled++;
    }
    if (settled === 0) this.#restoreUpTo = null;
  }
}
