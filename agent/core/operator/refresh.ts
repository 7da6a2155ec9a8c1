// Requeues known URLs when a new round of the crawl begins, except those that are skipped for
// other reasons than robots.txt. The round is a directive whose number only grows. The owner of
// a host requeues its URLs, some in each turn, and does the same with rows of an earlier round that
// arrive later.

import type { View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Host } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Visits } from '../protocol/visits-port.ts';

export interface RefreshParts {
  readonly settings: Pick<CoreSettings, 'bounds'>;
  readonly store: Store;
  readonly view: Pick<View, 'owns'>;
  /** Calls `received` for each host of this agent, in later turns. */
  readonly lookAtHosts: () => void;
  readonly visits: Pick<Visits, 'schedule'>;
}

export class Refresh {
  readonly #p: RefreshParts;
  /**
   * Hosts that may have URLs of an earlier round. Has at most all hosts of this agent; `pump`
   * empties it.
   */
  readonly #due = new Set<Host>();

  constructor(parts: RefreshParts) {
    this.#p = parts;
  }

  /** Whether nothing is left to requeue. */
  get isQuiet(): boolean {
    return this.#due.size === 0;
  }

  begin(round: number): void {
    if (round <= this.#p.store.round()) return;
    this.#p.store.beginRound(round);
    this.#p.lookAtHosts();
  }

  /**
   * Called when this agent becomes the owner of the host or receives rows of it, or a round begins.
   */
  received(host: Host): void {
    if (this.#p.store.round() > 0) this.#due.add(host);
  }

  pump(): void {
    const { hostsPerTurn, refreshUrls } = this.#p.settings.bounds;
    let hosts = hostsPerTurn;
    let urls = refreshUrls;
    for (const host of this.#due) {
      if (hosts-- === 0 || urls <= 0) return;
      if (!this.#p.view.owns(host)) {
        this.#due.delete(host);
        continue;
      }
      const { queued, over } = this.#p.store.requeueKnown(host, urls);
      urls -= over ? Math.max(1, queued) : urls;
      if (queued > 0) this.#p.visits.schedule(host);
      if (over) this.#due.delete(host);
    }
  }
}
