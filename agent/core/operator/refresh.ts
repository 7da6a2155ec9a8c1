// A new round of the crawl: what is known is asked for again. The round is an order, a register
// that only rises, so every agent hears of it, late joiners before their first request. The owner
// of a host queues its URLs again, some each turn; what copies and former owners bring of an
// earlier round is queued again when it comes. Called by the core each turn; the durable side is in
// the store.

import type { View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Host } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Visits } from '../protocol/visits-port.ts';

export interface RefreshParts {
  readonly settings: Pick<CoreSettings, 'bounds'>;
  readonly store: Store;
  readonly view: Pick<View, 'owns' | 'joined'>;
  /** Has `received` called for each host of this agent, in the turns to come. */
  readonly lookAtHosts: () => void;
  readonly visits: Pick<Visits, 'schedule'>;
}

export class Refresh {
  readonly #p: RefreshParts;
  /** Hosts that may have URLs of an earlier round; emptied by `pump`. */
  readonly #due = new Set<Host>();

  constructor(parts: RefreshParts) {
    this.#p = parts;
  }

  /** Nothing is left to be queued again. */
  get isQuiet(): boolean {
    return this.#due.size === 0;
  }

  /** The next turn has something to queue. */
  get isBusy(): boolean {
    return this.#p.view.joined && this.#due.size > 0;
  }

  begin(round: number): void {
    if (round <= this.#p.store.round()) return;
    this.#p.store.beginRound(round);
    this.#p.lookAtHosts();
  }

  /** It has become this agent's, or rows of it have come from another agent, or a round begins. */
  received(host: Host): void {
    if (this.#p.store.round() > 0) this.#due.add(host);
  }

  pump(): void {
    if (!this.#p.view.joined || this.#due.size === 0) return;
    const { hostsPerTurn, refreshUrls } = this.#p.settings.bounds;
    let hosts = hostsPerTurn;
    let urls = refreshUrls;
    for (const host of this.#due) {
      if (hosts-- === 0 || urls <= 0) return;
      if (!this.#p.view.owns(host)) {
        this.#due.delete(host);
        continue;
      }
      const { queued, over } = this.#p.store.queueAgain(host, urls);
      urls -= over ? Math.max(1, queued) : urls;
      if (queued > 0) this.#p.visits.schedule(host);
      if (over) this.#due.delete(host);
    }
  }
}
