// Hosts that are known as slow. A slow request says that the next ones may be slow too, for some
// multiple of the time that it took: so a server that drips is known as slow nearly all of the time,
// though it answers quickly in between, and one that was slow once is soon a host like others.
// It is in memory only: after a restart one slow request tells as much.

import type { Host } from '../../core/protocol/messages.ts';

/** An answer that takes longer is slow. Pages that a server has to compute take less. */
const SLOW_MS = 3000;
/** For how many times as long as its slow request a host is known as slow. */
const KNOWN_FACTOR = 8;
/** Hosts known at a time; the host that was slow longest ago is forgotten for another. */
const KNOWN_MAX = 10_000;

export class SlowHosts {
  /** Until when, in the order in which they were slow. Filled by outcomes; bound: `KNOWN_MAX`. */
  readonly #until = new Map<Host, number>();

  /** A request to the host ended. */
  answered(host: Host, durationMs: number, endedAt: number): void {
    if (durationMs > SLOW_MS) {
      this.#until.delete(host);
      this.#until.set(host, endedAt + KNOWN_FACTOR * durationMs);
      if (this.#until.size > KNOWN_MAX) this.#until.delete(this.#until.keys().next().value!);
    } else if (this.until(host) <= endedAt) this.#until.delete(host);
  }

  /** Until when the host is known as slow; 0: it is not. */
  until(host: Host): number {
    return this.#until.get(host) ?? 0;
  }
}
