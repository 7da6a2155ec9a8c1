// URLs that were skipped by rules that the operator may change: the scope of the config and blocked
// hosts. Where the rules allow a URL again, the owner of its host queues it again in a later round,
// which goes before the skip on every copy (PROTOCOL rule 15). Judged once for each host of
// this agent, some URLs a turn: at a start, when the host becomes this agent's, when rows of it come
// from others, and when a block is taken back.

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
  readonly view: Pick<View, 'owns' | 'joined'>;
  readonly orders: Pick<Orders, 'blocks' | 'unblocks'>;
  readonly inScope: (host: Host, item: UrlItem) => boolean;
  readonly admit: (item: UrlItem) => SkipReason | null;
  /** Has `received` called for each host of this agent, in the turns to come. */
  readonly lookAtHosts: () => void;
  readonly visits: Pick<Visits, 'schedule'>;
}

export class Reopening {
  readonly #p: ReopeningParts;
  /** Hosts that may have such URLs; filled by `received`, emptied by `pump`. Hosts of this agent. */
  readonly #due = new Set<Host>();
  /** Of hosts that have such URLs, the number up to which they were judged by today's rules. */
  readonly #judgedTo = new Map<Host, number>();

  constructor(parts: ReopeningParts) {
    this.#p = parts;
  }

  /** Nothing is left to be judged. */
  get isQuiet(): boolean {
    return this.#due.size === 0;
  }

  /** The next turn has something to judge. */
  get isBusy(): boolean {
    return this.#p.view.joined && this.#due.size > 0;
  }

  /** It has become this agent's, or rows of it have come from another agent. */
  received(host: Host): void {
    if (this.#p.store.hasShutUrls() && this.#p.view.owns(host)) this.#due.add(host);
  }

  /** A block of these hosts was taken back. */
  unblocked(pattern: string): void {
    for (const host of this.#judgedTo.keys()) {
      if (matchesHost(pattern, host)) this.#judgedTo.delete(host);
    }
    if (pattern.startsWith('*')) this.#p.lookAtHosts();
    else this.received(pattern);
  }

  pump(): void {
    if (!this.isBusy) return;
    const { settings, view } = this.#p;
    let hosts = settings.bounds.hostsPerTurn;
    let urls = settings.bounds.refreshUrls;
    for (const host of this.#due) {
      if (hosts-- === 0 || urls <= 0) return;
      const judged = view.owns(host) ? this.#judge(host, urls) : 0;
      // With fewer than there was room for all are judged.
      if (judged < urls) this.#due.delete(host);
      urls -= judged;
    }
  }

  /** Gives how many were judged. */
  #judge(host: Host, max: number): number {
    const { store, visits } = this.#p;
    const shut = store.shutUrls(host, this.#judgedTo.get(host) ?? 0, max);
    const open = shut.filter((url) => this.#isOpen(host, url));
    for (const { item } of open) store.reopenUrl(host, item.url);
    if (shut.length > 0) this.#judgedTo.set(host, shut.at(-1)!.n);
    if (open.length > 0) visits.schedule(host);
    return shut.length;
  }

  #isOpen(host: Host, { item, reason }: ShutUrl): boolean {
    const { orders, inScope, admit } = this.#p;
    if (orders.blocks(host)) return false;
    // A host that no order ever blocked has an address or a port that may not be asked.
    if (reason === 'blocked' && !orders.unblocks(host)) return false;
    return admit(item) === null && inScope(host, item);
  }
}
