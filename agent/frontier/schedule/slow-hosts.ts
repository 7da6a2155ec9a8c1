// Remembers slow hosts. After a slow request the host counts as slow for a multiple of the
// request's duration. So a server that often stalls counts as slow nearly all the time, even if it
// answers quickly in between, and a server that was slow once soon counts as normal. Kept in memory
// only: after a restart one slow request is enough to learn it again.

import type { Host } from '../../core/protocol/messages.ts';

/** A longer response is slow, in milliseconds. Pages that a server has to compute take less. */
const SLOW_MS = 3000;
/** The slow period is this factor times the duration of the slow request. */
const KNOWN_FACTOR = 8;
/** Maximum of hosts remembered. Beyond it, the host that was slow longest ago is forgotten. */
const KNOWN_MAX = 10_000;

export class SlowHosts {
  /** End of each host's slow period, by the time of the last slow request. Bound: `KNOWN_MAX`. */
  readonly #until = new Map<Host, number>();

  /** Records the end of a request to the host. */
  answered(host: Host, durationMs: number, endedAt: number): void {
    if (durationMs > SLOW_MS) {
      this.#until.delete(host);
      this.#until.set(host, endedAt + KNOWN_FACTOR * durationMs);
      if (this.#until.size > KNOWN_MAX) this.#until.delete(this.#until.keys().next().value!);
    } else if (this.until(host) <= endedAt) this.#until.delete(host);
  }

  /** End of the host's slow period; 0: the host is not slow. */
  until(host: Host): number {
    return this.#until.get(host) ?? 0;
  }
}
