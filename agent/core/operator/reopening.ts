// Requeues URLs that were skipped by a rule that has changed: the scope of the config, or a block of
// the host. The URL gets a later round, which wins over the skip on every copy (PROTOCOL rule 11). The
// URLs of a host are checked, some in each turn, after a start, when this agent becomes the owner, when
// rows arrive from others, and when a block is revoked.

import { matchesHost } from '../../url/host-patterns.ts';
import type { View } from '../membership/view.ts';
import type { ShutUrl, SkipReason, Store } from '../protocol/core-store.ts';
import type { Host, UrlItem } from '../protocol/messages.ts';
import type { Orders } from '../protocol/orders.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Visits } from '../protocol/visits-port.ts';

export interface ReopeningParts {
  readonly settings: Pick<CoreSettings, 'bounds'>;
  readonly store: Pick<Store, 'hasShutUrls' | 'shutUrls' | 'reopenUrl'>;
  readonly view: Pick<View, 'owns'>;
  readonly orders: Pick<Orders, 'blocks' | 'unblocks'>;
  readonly inScope: (host: Host, item: UrlItem) => boolean;
  readonly admit: (item: UrlItem) => SkipReason | null;
  /** Has `received` called for each host of this agent in later turns. */
  readonly lookAtHosts: () => void;
  readonly visits: Pick<Visits, 'schedule'>;
}

export class Reopening {
  readonly #p: ReopeningParts;
  /** Hosts to check. Filled by `received`, emptied by `pump`, bounded by the hosts of this agent. */
  readonly #due = new Set<Host>();
  /** By host, the event number up to which its URLs were checked against the current rules. */
  readonly #checkedTo = new Map<Host, number>();

  constructor(parts: ReopeningParts) {
    this.#p = parts;
  }

  /** Nothing is left to check. */
  get isQuiet(): boolean {
    return this.#due.size === 0;
  }

  /** This agent now owns the host or has received rows of it. */
  received(host: Host): void {
    if (this.#p.store.hasShutUrls() && this.#p.view.owns(host)) this.#due.add(host);
  }

  /** A block of these hosts was revoked. */
  unblocked(pattern: string): void {
    for (const host of this.#checkedTo.keys()) {
      if (matchesHost(pattern, host)) this.#checkedTo.delete(host);
    }
    if (pattern.startsWith('*')) this.#p.lookAtHosts();
    else this.received(pattern);
  }

  pump(): void {
    const { settings, view } = this.#p;
    let hosts = settings.bounds.hostsPerTurn;
    let urls = settings.bounds.refreshUrls;
    for (const host of this.#due) {
      if (hosts-- === 0 || urls <= 0) return;
      const checked = view.owns(host) ? this.#check(host, urls) : 0;
      // Fewer URLs than allowed: the host has no more.
      if (checked < urls) this.#due.delete(host);
      urls -= checked;
    }
  }

  /** Checks up to `max` URLs of the host. Returns how many were checked. */
  #check(host: Host, max: number): number {
    const { store, visits } = this.#p;
    const shut = store.shutUrls(host, this.#checkedTo.get(host) ?? 0, max);
    const open = shut.filter((url) => this.#isOpen(host, url));
    for (const { item } of open) store.reopenUrl(host, item.url);
    if (shut.length > 0) this.#checkedTo.set(host, shut.at(-1)!.n);
    if (open.length > 0) visits.schedule(host);
    return shut.length;
  }

  #isOpen(host: Host, { item, reason }: ShutUrl): boolean {
    const { orders, inScope, admit } = this.#p;
    if (orders.blocks(host)) return false;
    // Without a revoked block, it is the address or port of the host that is not permitted.
    if (reason === 'blocked' && !orders.unblocks(host)) return false;
    return admit(item) === null && inScope(host, item);
  }
}
