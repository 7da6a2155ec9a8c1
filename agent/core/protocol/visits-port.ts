// The core's interface to the visits, which choose the requests. `agent/frontier` implements it. A
// visit checks the fetch right before every request and adds the request to the turn's effects.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Host, UrlItem } from './messages.ts';
import type { Outcome } from './outcome.ts';

/** The result of a robots.txt; `reason` explains it, or names the source. */
export type RobotsResult =
  /** `body`: the file in base64. */
  | { readonly kind: 'rules'; readonly reason: string; readonly body: string }
  | { readonly kind: 'allowAll'; readonly reason: string }
  /** `final`: no attempt is left; else the failure counts as one attempt. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly final: boolean };

export interface KnownRobots {
  readonly result: RobotsResult;
  /** `stale`: too old. `retrying`: the visits will retry. */
  readonly standing: 'fresh' | 'stale' | 'retrying';
  /** Set if it redirects: the origin whose robots.txt it is, and the number of redirects. */
  readonly leadsTo?: { readonly to: string; readonly hops: number };
}

export interface PlacedUrl {
  readonly host: Host;
  readonly item: UrlItem;
}

/** The URLs that a response names, read in parts because there may be very many. */
export interface NamedUrls {
  readonly count: number;
  part(from: number, to: number): readonly PlacedUrl[];
}

/** The page that finishing a request recorded, or null. */
export interface Finished {
  readonly page: { readonly host: Host; readonly url: string } | null;
}

/** The hosts to which no requests are started in this turn. */
export interface Held {
  readonly all: boolean;
  host(host: Host): boolean;
}

/**
 * The reasons for a timed wait:
 *
 * - `delay`: the end of its delay or back-off.
 * - `retries`: the first retry among its URLs. A fresh URL ends this wait.
 * - `outbox`: time for the outbox to send the URLs that its pages named.
 */
export type TimedWait = 'delay' | 'retries' | 'outbox';

/**
 * The event that a host waits for:
 *
 * - `right`: this agent may send requests to the host.
 * - `robots`: another agent reports the rules to which the host's robots.txt redirects.
 * - `permit`: an address permit.
 * - `network`: another network, which visits the host or has its URLs.
 */
export type AwaitedEvent = 'right' | 'robots' | 'permit' | 'network';

/** Why a host waits: for a visit in one of the lines, for a time (mono), or for an event. */
export type Wait =
  | { readonly kind: 'new' }
  | { readonly kind: 'back' }
  | { readonly kind: 'slow'; readonly untilMs: number }
  | { readonly kind: 'time'; readonly untilMs: number; readonly why: TimedWait }
  | { readonly kind: 'event'; readonly why: AwaitedEvent };

export interface Visits {
  /** How many requests may hold a thread at a time. */
  readonly threads: number;
  /** The host has (more) queued URLs. */
  schedule(host: Host): void;
  /** The condition that blocked the host (or all hosts) may have ended. */
  wake(host: Host): void;
  wakeAll(): void;
  /** Checks the host at once: its delay, or whether it may be visited, has changed. */
  recheck(host: Host, now: Instant): void;
  /** Checks every host, or those for which `named` is true; queued URLs may be skipped. */
  recheckAll(now: Instant, named?: (host: Host) => boolean): void;
  /** Stops visits to hosts that this agent does not own any more. */
  keepOnly(owns: (host: Host) => boolean): void;
  /** The host's rows are being deleted; no request to it is open. */
  dropped(host: Host, now: Instant): void;
  /** The last result for the robots.txt of an origin of the host, or null. */
  robotsOf(host: Host, origin: string, now: Instant): KnownRobots | null;
  /** The result for a robots.txt that redirects to another host; visits to `host` continue. */
  robotsReported(host: Host, origin: string, result: RobotsResult, now: Instant): void;
  /** Why the host waits; undefined: it does not, or that is not in memory. */
  waitOf(host: Host): Wait | undefined;
  /** Some hosts that have no open request, and wait for nothing but their turn or delay. */
  waiting(): readonly Host[];
  isOpen(host: Host): boolean;
  /** The open requests. */
  open(): Iterable<{ readonly id: number; readonly host: Host }>;
  openCount(): number;
  /** No host is visited, and no host with queued URLs waits for a visit. */
  isEmpty(): boolean;
  /** No host is visited, and all hosts with queued URLs wait for other networks. */
  waitsForNetworks(): boolean;
  /** Starts requests as far as threads, delays and fetch rights allow. */
  tick(now: Instant, hold: Held): void;
  /**
   * The URLs in the response to an open request: the links of a page, or the sitemaps of a
   * robots.txt. The caller routes them before it calls `finish`.
   */
  namedBy(outcome: Outcome): NamedUrls;
  finish(outcome: Outcome, now: Instant): Finished;
  /** When `tick` next has work to do, on the monotonic clock; Infinity: never. */
  nextAtMs(): number;
}
