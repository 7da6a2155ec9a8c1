// Decides which hosts get no requests because too much waits to be sent or copied. A host whose pages
// name many thousands of URLs of other agents fills the outbox faster than it empties. Such a host is
// held first, so it crawls at the pace of the outbox while the other hosts continue at theirs.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Host } from '../protocol/messages.ts';
import type { Orders } from '../protocol/orders.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Held } from '../protocol/visits-port.ts';
import type { Settlement } from '../replication/settlement.ts';

/** The share of `bounds.outbox` that one host may use once the outbox is half full. */
const SHARE_OF_HOST = 0.02;

interface HoldBackParts {
  readonly settings: Pick<CoreSettings, 'bounds'>;
  readonly store: Pick<Store, 'outboxCount'>;
  readonly settlement: Pick<Settlement, 'isFull' | 'openOf'>;
  readonly orders: Pick<Orders, 'paused'>;
}

export class HoldBack {
  readonly #p: HoldBackParts;

  constructor(parts: HoldBackParts) {
    this.#p = parts;
  }

  /** The hosts that get no request in this turn. */
  at(now: Instant): Held {
    return { all: this.#holdsAll(now), host: (host) => this.#holds(host) };
  }

  #holdsAll(now: Instant): boolean {
    const { settings, store, settlement, orders } = this.#p;
    const isOver = store.outboxCount() >= 2 * settings.bounds.outbox;
    return isOver || settlement.isFull(now) || orders.paused;
  }

  /** Whether too many URLs that the pages of this host named wait in the outbox. */
  #holds(host: Host): boolean {
    const { settings, store, settlement } = this.#p;
    const { outbox } = settings.bounds;
    const waiting = store.outboxCount();
    if (waiting < outbox / 2) return false;
    return settlement.openOf(host) > (waiting < outbox ? SHARE_OF_HOST * outbox : 0);
  }
}
