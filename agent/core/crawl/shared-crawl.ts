// Connects the networks that share the crawl to the core: which agent is the centre of its network,
// and which hosts have work. It records when the Redis of a network fails. Without other
// networks it does nothing.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { Host } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { Visits } from '../protocol/visits-port.ts';
import { centreName, type Networks } from './networks-port.ts';

interface SharedCrawlParts {
  readonly networks: Networks | undefined;
  readonly view: Pick<View, 'joined' | 'owns'>;
  readonly events: Pick<EventLog, 'record'>;
  readonly store: Pick<Store, 'hasUrlFor'>;
  /** False: this agent is about to exit, and gives the role of the centre up. */
  readonly isCrawling: () => boolean;
  readonly visits: Pick<Visits, 'wake' | 'isOpen' | 'waitsForNetworks'>;
}

export class SharedCrawl implements Part {
  readonly #p: SharedCrawlParts;
  readonly #name: string;
  /** The networks whose Redis fails, and for how long calls to it have failed. */
  readonly #failedMs = new Map<string, number>();

  constructor(parts: SharedCrawlParts) {
    this.#p = parts;
    const { networks, visits } = parts;
    this.#name = networks ? centreName(networks.network) : '';
    networks?.begin({
      wake: (host) => visits.wake(host),
      hasWork: (host) => this.#hasWork(host),
      isIdle: () => visits.waitsForNetworks(),
    });
  }

  #hasWork(host: Host): boolean {
    const { view, visits, store } = this.#p;
    return visits.isOpen(host) || (view.owns(host) && store.hasUrlFor(host));
  }

  mayGoOn(host: Host, now: Instant): boolean {
    return this.#p.networks?.mayGoOn(host, now) ?? true;
  }

  pump(now: Instant): void {
    const { networks, view, isCrawling } = this.#p;
    networks?.pump(now, isCrawling() && view.joined && view.owns(this.#name));
    this.#recordFailures(now);
  }

  /** One event when calls to a Redis begin to fail, and one when they no longer do. */
  #recordFailures(now: Instant): void {
    const { networks, events } = this.#p;
    const failures = networks?.failures(now) ?? [];
    for (const { network, message, forMs, quietMs } of failures) {
      const isNew = !this.#failedMs.has(network);
      if (isNew) events.record(now.mono, 'network', { network, why: message });
      this.#failedMs.set(network, forMs - quietMs);
    }
    for (const [network, tookMs] of this.#failedMs) {
      if (failures.some((failure) => failure.network === network)) continue;
      this.#failedMs.delete(network);
      events.record(now.mono, 'network', { network, tookMs });
    }
  }

  get isQuiet(): boolean {
    return this.#p.networks?.isQuiet ?? true;
  }
}
