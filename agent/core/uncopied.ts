// The pages that were fetched here and are not at all backups of their hosts yet: a crash of this
// agent costs their requests, for its heirs fetch them again. While as many of them wait as there
// are threads the visits pause, so a crash costs twice the threads at most: what is open and what
// waits. Those that wait for long, because some backup is slow, are not counted any more: one slow
// peer must not hold up the hosts that have nothing to do with it.

import type { Host } from './messages.ts';

interface Awaited {
  readonly page: string;
  /** The page's *done* number: where its backups are to be. */
  readonly n: number;
}

export class Uncopied {
  readonly #isSafe: (host: Host, n: number) => boolean;
  /** When each was fetched, the oldest first; not those that are late. */
  readonly #fetchedAt = new Map<string, number>();
  /** Settled pages, by host in order of their numbers. */
  readonly #awaited = new Map<Host, Awaited[]>();

  constructor(isSafe: (host: Host, n: number) => boolean) {
    this.#isSafe = isSafe;
  }

  fetched(page: string, at: number): void {
    this.#fetchedAt.delete(page);
    this.#fetchedAt.set(page, at);
  }

  settled(page: string, host: Host, n: number): void {
    const awaited = this.#awaited.get(host);
    if (awaited) awaited.push({ page, n });
    else this.#awaited.set(host, [{ page, n }]);
    this.progressed(host);
  }

  /** The host's backups have more of it than before, or there are others. */
  progressed(host: Host): void {
    const awaited = this.#awaited.get(host);
    if (!awaited) return;
    const left = awaited.findIndex(({ n }) => !this.#isSafe(host, n));
    const safe = left === -1 ? awaited.length : left;
    for (const { page } of awaited.splice(0, safe)) this.#fetchedAt.delete(page);
    if (awaited.length === 0) this.#awaited.delete(host);
  }

  forget(page: string): void {
    this.#fetchedAt.delete(page);
  }

  /** Another owns the host now and has its rows. */
  returned(host: Host): void {
    for (const { page } of this.#awaited.get(host) ?? []) this.#fetchedAt.delete(page);
    this.#awaited.delete(host);
  }

  viewChanged(): void {
    for (const host of [...this.#awaited.keys()]) this.progressed(host);
  }

  /** How many wait that were fetched at `since` or later. */
  count(since: number): number {
    for (const [page, at] of this.#fetchedAt) {
      if (at >= since) break;
      this.#fetchedAt.delete(page);
    }
    return this.#fetchedAt.size;
  }
}
