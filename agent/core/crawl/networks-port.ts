// The core's interface to the other networks that crawl the same URLs (docs/NETWORKS.md), which
// `agent/networks` implements. Absent: this crawl is not shared.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Host, UrlItem } from '../protocol/messages.ts';

/** `isFinal`: the other network has finished the page; else it has only claimed the URL. */
export type Verdict =
  | { readonly kind: 'new' }
  | { readonly kind: 'elsewhere'; readonly network: string; readonly isFinal: boolean };

/** What the visits need. */
export interface SharedHosts {
  /** Whether a request to the host may start now. If not, the host is woken when that may change. */
  mayVisit(host: Host, delayMs: number, now: Instant): boolean;
  /** A request to the host has ended (mono); the delay after it. */
  requestEnded(host: Host, endedAtMs: number, delayMs: number): void;
}

/** What the networks call. */
export interface NetworksCalls {
  wake(host: Host): void;
  /** Whether the host has URLs that may be requested, or an open request. */
  hasWork(host: Host): boolean;
  /** Whether a request to the host is open. */
  isOpen(host: Host): boolean;
  /** This agent has no other work than to wait for other networks. */
  isIdle(): boolean;
  /** URLs of this agent that are queued, also those that other networks have or may have. */
  queued(): number;
  /** This agent has nothing to do, to send or to wait for. */
  isDone(): boolean;
  /** Hosts that wait for a visit; none if this agent has few URLs, or does not crawl. */
  spareHosts(): readonly Host[];
  /** URLs that another network gives: they are new here. */
  accept(urls: readonly UrlItem[]): void;
  /** Ends the idle period of this agent: the cluster must complete anew. */
  activity(): void;
}

/** The Redis of a network does not answer. `message`: the last error, with its remedy. */
export interface RedisFailure {
  readonly network: string;
  readonly message: string;
  readonly forMs: number;
  /** Since the last call that failed. */
  readonly quietMs: number;
}

/** Times in Unix milliseconds. `holder`: the network that has the lease; null: it is not known. */
export type LeaseWait =
  | {
      readonly kind: 'lease';
      readonly sinceMs: number;
      readonly holder: string | null;
      /** The network whose Redis grants it. */
      readonly home: string;
    }
  /** What is left of the delay after a request of another network. */
  | { readonly kind: 'delay'; readonly untilMs: number };

/** What a host waits for. `failures`: why a Redis that it depends on does not answer. */
export type NetworkWait = { readonly failures: readonly string[] } & (
  | LeaseWait
  | { readonly kind: 'verdicts'; readonly sinceMs: number }
  /** Other networks have claimed its URLs, and not finished them. */
  | { readonly kind: 'claims' }
  /** This agent has not looked whether claims of its network have lapsed. */
  | { readonly kind: 'look' }
);

/** For `status`. The counts are since the start of the agent. */
export interface NetworksStatus {
  readonly network: string;
  readonly submitter: {
    readonly frames: number;
    /** Frames with a verdict, and the sum of the times until it came. */
    readonly verdicts: number;
    readonly latencyMs: number;
    /** URLs that are new according to a partial verdict, or that another network has. */
    readonly partial: number;
    readonly elsewhere: number;
    /** URLs that wait for a verdict. */
    readonly urls: number;
    readonly errors: number;
  };
  readonly reporter: {
    readonly unreported: number;
    readonly isFilling: boolean;
    readonly errors: number;
  };
  /** Null: another agent is the centre. */
  readonly centre: object | null;
  /** `lost`: leases that ended before they were renewed. */
  readonly leases: {
    readonly held: number;
    readonly waiting: number;
    readonly lost: number;
    readonly errors: number;
  };
  /** Networks without centre, as the centre sees them: they do not run. */
  readonly absent?: readonly { readonly network: string; readonly forMs: number }[];
  /** URLs given to other networks, and received from them. */
  readonly gifts?: { readonly given: number; readonly received: number };
  /** The cluster is complete, and waits for these networks. */
  readonly awaited?: readonly string[];
  /** The networks whose Redis does not answer this agent now. */
  readonly failures: readonly RedisFailure[];
  /** What has become wrong with the settings of a Redis that answers, with the remedy. */
  readonly warnings: readonly string[];
  /** What happens if one does not answer: `dedup.onTimeout`. */
  readonly onTimeout: 'proceed' | 'wait';
}

export interface Networks extends SharedHosts {
  /** The name of this network. */
  readonly network: string;
  /** Called once, before the first turn. */
  begin(calls: NetworksCalls): void;
  /**
   * Called once a turn.
   *
   * @param isCentre - this agent owns the network's name
   */
  pump(now: Instant, isCentre: boolean): void;
  /** Nothing is to be sent, and no verdict is awaited. */
  readonly isQuiet: boolean;
  /** Called in each turn while the cluster is complete: whether no network can give it work. */
  mayEnd(): boolean;
  /**
   * Called in each turn while the agent is about to end: reports what has ended here, releases its
   * hosts without open request and gives up the role of centre. Whether Redis has confirmed all of it,
   * or cannot be told now.
   */
  tellAll(): boolean;
  /** The networks whose Redis does not answer this agent now. */
  failures(now: Instant): readonly RedisFailure[];
  /** For a host that waits for other networks. */
  waitOf(host: Host, now: Instant): NetworkWait;
  /** Whether an open request to the host may continue. */
  mayGoOn(host: Host, now: Instant): boolean;
}

/** The name of a network in the preference lists, whose owner is the network's centre. */
export function centreName(network: string): string {
  return `network:${network}`;
}
