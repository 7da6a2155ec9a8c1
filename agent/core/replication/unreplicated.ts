// The pages that were fetched here and are not at all backups of their hosts yet: a crash of this
// agent costs their requests, for its successors fetch them again. While as many of them wait as there
// are threads the visits pause, so a crash costs twice the threads at most: what is open and what
// waits. Those that wait for long, because some backup is slow, are not counted any more: one slow
// peer must not hold up the hosts that have nothing to do with it.

import type { Host } from '../protocol/messages.ts';

interface Fetched {
  readonly at: number;
  /** Where it waits for its backups, once it is settled. */
  host: Host | null;
}

export class Unreplicated {
  readonly #isSafe: (host: Host, n: number) => boolean;
  /** The pages that count, the oldest first; those that are late are forgotten altogether. */
  readonly #fetched = new Map<string, Fetched>();
  /** Settled pages that count, by host, with their *done* numbers and in the order of these. */
  readonly #awaited = new Map<Host, Map<string, number>>();

  constructor(isSafe: (host: Host, n: number) => boolean) {
    this.#isSafe = isSafe;
  }

  fetched(page: string, at: number): void {
    this.forget(page);
    this.#fetched.set(page, { at, host: null });
  }

  settled(page: string, host: Host, n: number): void {
    const fetched = this.#fetched.get(page);
    if (!fetched) return;
    fetched.host = host;
    const awaited = this.#awaited.get(host) ?? new Map<string, number>();
    this.#awaited.set(host, awaited);
    awaited.delete(page);
    awaited.set(page, n);
    this.progressed(host);
  }

  /** The host's backups have more of it than before, or there are others. */
  progressed(host: Host): void {
    for (const [page, n] of this.#awaited.get(host) ?? []) {
      if (!this.#isSafe(host, n)) break;
      this.forget(page);
    }
  }

  forget(page: string): void {
    const host = this.#fetched.get(page)?.host ?? null;
    this.#fetched.delete(page);
    const awaited = host === null ? undefined : this.#awaited.get(host);
    if (host === null || !awaited) return;
    awaited.delete(page);
    if (awaited.size === 0) this.#awaited.delete(host);
  }

  /** Another owns the host now and has its rows. */
  returned(host: Host): void {
    for (const page of this.#awaited.get(host)?.keys() ?? []) this.forget(page);
  }

  viewChanged(): void {
    for (const host of [...this.#awaited.keys()]) this.progressed(host);
  }

  /** How many wait that were fetched at `since` or later. */
  count(since: number): number {
    for (const [page, { at }] of this.#fetched) {
      if (at >= since) break;
      this.forget(page);
    }
    return this.#fetched.size;
  }
}
