// Counts the fetched pages that are not at all backups of their hosts yet. If this agent crashes,
// its successors fetch them again. The visits pause while there are as many such pages as threads,
// so a crash repeats at most twice as many requests as threads: those of these pages and the open
// ones. Pages that wait for long are not counted, so that one slow backup does not delay unrelated
// hosts.

import type { Host } from '../protocol/messages.ts';

interface Fetched {
  readonly at: number;
  /** The page's host once it is settled and waits for the backups, else null. */
  host: Host | null;
}

export class Unreplicated {
  readonly #isSafe: (host: Host, n: number) => boolean;
  /**
   * The counted pages, the oldest first. Filled by `fetched`; copied and late pages are removed.
   */
  readonly #fetched = new Map<string, Fetched>();
  /** The counted pages that are settled, by host, with their *done* numbers, the lowest first. */
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

  /** The host's copies have progressed, or its backups have changed. */
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

  /** Another agent owns the host now and has its rows. */
  returned(host: Host): void {
    for (const page of this.#awaited.get(host)?.keys() ?? []) this.forget(page);
  }

  viewChanged(): void {
    for (const host of [...this.#awaited.keys()]) this.progressed(host);
  }

  /** Number of uncopied pages fetched at or after `since`; forgets the older ones. */
  count(since: number): number {
    for (const [page, { at }] of this.#fetched) {
      if (at >= since) break;
      this.forget(page);
    }
    return this.#fetched.size;
  }
}
