// Connects the protocol between networks to this agent: its store, its visits and its part in the
// cluster. The core calls it once a turn.

import type { Instant } from '../../../failure-detector/instant.ts';
import type {
  Networks,
  NetworksCalls,
  NetworksStatus,
  NetworkWait,
  RedisFailure,
  Verdict,
} from '../../core/crawl/networks-port.ts';
import type { Host } from '../../core/protocol/messages.ts';
import { MinHeap } from '../../frontier/schedule/min-heap.ts';
import type { NetworkParts } from '../network-settings.ts';
import type { GivenUrl } from '../pools.ts';
import { RedisFailures } from '../redis-failures.ts';
import type { Filling, Report, Standing } from '../reporter.ts';
import { NetworkClient } from './network-client.ts';

/** What the store keeps for the networks. */
export interface NetworkStore {
  more(max: number): readonly string[];
  elsewhere(after: string | null, max: number): readonly string[];
  unreported(max: number): readonly Report[];
  reported(reports: readonly Report[]): void;
  fill(from: string | null, max: number): Filling;
  askAgain(identities: readonly string[]): void;
  standingOf(identity: string): Standing;
  give(host: Host, network: string, max: number): readonly GivenUrl[];
  /** What has happened since the last call. `hasMore`: the lists are not complete. */
  takeNews(): {
    readonly waiting: readonly string[];
    readonly reports: readonly Report[];
    readonly hasMore: boolean;
  };
}

export interface SharedNetworksParts extends NetworkParts {
  readonly store: NetworkStore;
  /** False: the URL was given up here meanwhile. */
  readonly decide: (identity: string, verdict: Verdict) => boolean;
  readonly hostOf: (identity: string) => Host | null;
  /** There is a connection to the Redis of the network. */
  readonly isConnected: (network: string) => boolean;
  /** What has become wrong with the settings of the network's Redis; null: nothing. */
  readonly warningOf: (network: string) => Error | null;
  readonly members: () => { readonly agents: readonly string[]; readonly isPartial: boolean };
}

/** A lease is kept for so long after the host's last work: more of its URLs may follow. */
const KEEP_MS = 1000;
/** How often some hosts with a lease are examined. */
const EXAMINE_MS = 100;
/** After so many times all have been examined, unless there are more hosts than may be at once. */
const EXAMINATIONS = 5;
const EXAMINED_MAX = 200;

export class SharedNetworks implements Networks {
  readonly network: string;
  readonly #p: SharedNetworksParts;
  readonly #client: NetworkClient;
  readonly #failures: RedisFailures;
  #calls: NetworksCalls | null = null;
  #isCentreWanted = false;
  /** By network, the warning that was logged. */
  readonly #warned = new Map<string, Error>();
  #now: Instant = { mono: 0, wall: 0 };
  /** Hosts that asked for a lease, with the time since which they have had no work. */
  readonly #entered = new Map<Host, number | null>();
  #examineAtMs = -Infinity;
  /** Hosts whose lease begins later, by the time (mono). Filled by `mayVisit`, one entry a wait. */
  readonly #later = new MinHeap<Host>();
  /** Hosts with verdicts of this turn. */
  readonly #decided = new Set<Host>();

  constructor(parts: SharedNetworksParts) {
    this.#p = parts;
    this.network = parts.settings.network;
    this.#failures = new RedisFailures(parts.settings.timeoutMs);
    this.#client = new NetworkClient({
      ...parts,
      store: {
        more: (max) => parts.store.more(max),
        elsewhere: (after, max) => parts.store.elsewhere(after, max),
        decide: (identity, verdict) => this.#decide(identity, verdict),
        isIdle: () => this.#calls?.isIdle() ?? false,
        queued: () => this.#calls?.queued() ?? 0,
        unreported: (max) => parts.store.unreported(max),
        reported: (reports) => parts.store.reported(reports),
        fill: (from, max) => parts.store.fill(from, max),
        askAgain: (identities) => parts.store.askAgain(identities),
        standingOf: (identity) => parts.store.standingOf(identity),
        spareHosts: () => this.#calls?.spareHosts() ?? [],
        give: (host, network, max) => parts.store.give(host, network, max),
        accept: (urls) => this.#calls?.accept(urls),
      },
      onError: (error) => {
        if (this.#failures.record(error, this.#now)) parts.onError(error);
      },
      isCentreWanted: () => this.#isCentreWanted,
      isDone: () => this.#calls?.isDone() ?? false,
      activity: () => this.#calls?.activity(),
      wakeHost: (host) => this.#calls?.wake(host),
    });
  }

  begin(calls: NetworksCalls): void {
    this.#calls = calls;
  }

  #decide(identity: string, verdict: Verdict): boolean {
    const host = this.#p.hostOf(identity);
    if (host !== null) this.#decided.add(host);
    return this.#p.decide(identity, verdict);
  }

  mayVisit(host: Host, delayMs: number, now: Instant): boolean {
    this.#entered.set(host, null);
    const entry = this.#client.enterHost(host, delayMs, now);
    if (entry.kind === 'go') return true;
    if (entry.untilMs !== null) this.#later.push(entry.untilMs, host);
    return false;
  }

  requestEnded(host: Host, endedAtMs: number, delayMs: number): void {
    this.#client.requestEnded(host, endedAtMs, delayMs);
  }

  mayGoOn(host: Host, now: Instant): boolean {
    return this.#client.mayGoOn(host, now);
  }

  pump(now: Instant, isCentre: boolean): void {
    this.#now = now;
    this.#warn();
    this.#isCentreWanted = isCentre;
    this.#passNews(now);
    while (this.#later.firstKey <= now.mono) this.#calls?.wake(this.#later.pop()!);
    this.#examine();
    this.#client.pump(now);
    for (const host of this.#decided) this.#calls?.wake(host);
    this.#decided.clear();
  }

  #warn(): void {
    for (const network of this.#p.settings.networks) {
      const warning = this.#p.warningOf(network);
      if (warning === null) this.#warned.delete(network);
      else {
        if (this.#warned.get(network)?.message !== warning.message) this.#p.onError(warning);
        this.#warned.set(network, warning);
      }
    }
  }

  #passNews(now: Instant): void {
    const { waiting, reports, hasMore } = this.#p.store.takeNews();
    if (hasMore) this.#client.storeChanged();
    this.#client.offer(waiting, now);
    this.#client.report(reports, now);
  }

  /** Gives up the leases of hosts without work. */
  #examine(): void {
    const { mono } = this.#now;
    if (mono < this.#examineAtMs) return;
    this.#examineAtMs = mono + EXAMINE_MS;
    let left = Math.min(EXAMINED_MAX, Math.ceil(this.#entered.size / EXAMINATIONS));
    for (const [host, since] of this.#entered) {
      if (left-- === 0) return;
      // The next examination goes on with others.
      this.#entered.delete(host);
      if (this.#calls?.hasWork(host)) this.#entered.set(host, null);
      else if (since === null) this.#entered.set(host, mono);
      else if (mono - since < KEEP_MS) this.#entered.set(host, since);
      else this.#client.leaveHost(host, this.#now);
    }
  }

  mayEnd(): boolean {
    return this.#client.mayEnd();
  }

  tellAll(): boolean {
    for (const host of this.#entered.keys()) {
      if (this.#calls?.isOpen(host)) continue;
      this.#entered.delete(host);
      this.#client.leaveHost(host, this.#now);
    }
    // The store keeps the reports for the next start.
    return !this.#p.isConnected(this.network) || this.#client.tellAll();
  }

  get isQuiet(): boolean {
    return this.#client.isQuiet;
  }

  failures(now: Instant): readonly RedisFailure[] {
    for (const network of this.#p.settings.networks) {
      if (!this.#p.isConnected(network)) this.#failures.prolong(network, now);
    }
    return this.#failures.current(now);
  }

  waitOf(host: Host, now: Instant): NetworkWait {
    const lease = this.#client.leaseWaitOf(host, now);
    const isLooking = lease?.kind === 'lease' && !this.#client.hasLooked(now);
    const failures = this.failures(now)
      .filter(({ network }) => {
        if (isLooking) return network === this.network;
        return lease === null || (lease.kind === 'lease' && lease.home === network);
      })
      .map(({ message }) => message);
    if (isLooking) return { kind: 'look', failures };
    if (lease) return { ...lease, failures };
    const sinceMs = this.#client.askingSince((url) => this.#p.hostOf(url) === host);
    return sinceMs === null
      ? { kind: 'claims', failures }
      : { kind: 'verdicts', sinceMs, failures };
  }

  status(): NetworksStatus {
    const now = this.#now;
    const failures = this.failures(now);
    const { onTimeout } = this.#p.settings;
    const warnings = [...this.#warned].map(([, { message }]) => message);
    return { network: this.network, ...this.#client.status(now), failures, warnings, onTimeout };
  }
}
