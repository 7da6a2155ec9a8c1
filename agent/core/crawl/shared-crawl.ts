// Connects the networks that share the crawl to the core: which agent is the centre of its network,
// and which hosts have work. It records when the Redis of a network fails. Without other
// networks it does nothing.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Routing } from '../exchange/routing.ts';
import type { View } from '../membership/view.ts';
import type { SkipReason, Store } from '../protocol/core-store.ts';
import type { Directives } from '../protocol/directives.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { Host, UrlItem } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { Visits } from '../protocol/visits-port.ts';
import { centreName, type Networks } from './networks-port.ts';

/** An agent with fewer queued URLs gives none to another network. */
const SPARE_URLS_MIN = 20;

interface SharedCrawlParts {
  readonly networks: Networks | undefined;
  readonly view: Pick<View, 'joined' | 'owns'>;
  readonly events: Pick<EventLog, 'record'>;
  readonly store: Pick<Store, 'hasUrlFor' | 'owned'>;
  readonly directives: Pick<Directives, 'paused'>;
  readonly routing: Pick<Routing, 'route'>;
  /** Why a URL is not queued; null: it is queued. */
  readonly admit: (item: UrlItem) => SkipReason | null;
  /** Null: the text is not the canonical form of a URL. */
  readonly hostOf: (url: string) => Host | null;
  /** This agent has nothing to do, to send or to wait for. */
  readonly isIdle: () => boolean;
  /** Ends the idle period of this agent. */
  readonly activity: () => void;
  /** False: this agent is about to exit, and gives the role of the centre up. */
  readonly isCrawling: () => boolean;
  /** The crawl is complete, or the agent has ended. */
  readonly isOver: () => boolean;
  readonly visits: Pick<Visits, 'wake' | 'isOpen' | 'waitsForNetworks' | 'waiting'>;
}

export class SharedCrawl implements Part {
  readonly #p: SharedCrawlParts;
  readonly #name: string;
  /** The networks whose Redis fails, and for how long calls to it have failed. */
  readonly #failedMs = new Map<string, number>();

  constructor(parts: SharedCrawlParts) {
    this.#p = parts;
    const { networks, visits, store, activity, isIdle, isOver } = parts;
    this.#name = networks ? centreName(networks.network) : '';
    networks?.begin({
      wake: (host) => visits.wake(host),
      hasWork: (host) => this.#hasWork(host),
      isOpen: (host) => visits.isOpen(host),
      isIdle: () => visits.waitsForNetworks(),
      queued: () => store.owned().queued,
      // Then it may not be idle, but it has no work to tell of.
      isDone: () => isIdle() || isOver(),
      activity,
      spareHosts: () => this.#spareHosts(),
      accept: (urls) => this.#accept(urls),
    });
  }

  /** A paused network keeps no host from the others. */
  #hasWork(host: Host): boolean {
    const { view, visits, store, directives } = this.#p;
    if (visits.isOpen(host)) return true;
    return !directives.paused && view.owns(host) && store.hasUrlFor(host);
  }

  #spareHosts(): readonly Host[] {
    const { view, store, visits, directives, isCrawling } = this.#p;
    if (directives.paused || !isCrawling() || store.owned().queued < SPARE_URLS_MIN) return [];
    return visits.waiting().filter((host) => view.owns(host) && store.hasUrlFor(host));
  }

  /**
   * URLs that the config refuses are not queued; they return to the network that gave them. Other
   * programs can write to Redis, and members refuse messages with a URL that is not canonical.
   */
  #accept(urls: readonly UrlItem[]): void {
    const { routing, admit, hostOf } = this.#p;
    const isSound = (url: string) => hostOf(url) !== null;
    const sound = urls.flatMap(({ referrer, ...item }) => {
      if (!isSound(item.url) || admit(item) !== null) return [];
      return [referrer !== undefined && isSound(referrer) ? { ...item, referrer } : item];
    });
    routing.route(sound);
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
