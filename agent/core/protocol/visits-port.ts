// The port through which the core drives the visits: which requests are made, one host a thread.
// `agent/frontier` implements it. The core tells it of hosts that got URLs and of rights that have
// come free; the visits ask the core's fetch right before every request and leave their requests
// in the turn's effects.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Host, UrlItem } from './messages.ts';
import type { Outcome } from './outcome.ts';

/** What a robots.txt comes to; `reason` says why it is so, or where it is from. */
export type RobotsWord =
  /** `body`: base64 of the file. */
  | { readonly kind: 'rules'; readonly reason: string; readonly body: string }
  | { readonly kind: 'allowAll'; readonly reason: string }
  /** `final`: no attempt is left; else it counts as one. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly final: boolean };

/** `stale`: it is too old. `retrying`: the visits try again. */
export interface KnownRobots {
  readonly word: RobotsWord;
  readonly standing: 'fresh' | 'stale' | 'retrying';
  /** The origin whose own robots.txt it is, if another's, and the redirects up to there. */
  readonly leadsTo?: { readonly to: string; readonly hops: number };
}

/** A URL with its host, which whoever made the URL has looked up. */
export interface PlacedUrl {
  readonly host: Host;
  readonly item: UrlItem;
}

/** URLs that an answer names; as there may be very many, they are looked up in parts. */
export interface NamedUrls {
  readonly count: number;
  part(from: number, to: number): readonly PlacedUrl[];
}

/** The page that finishing a request recorded; null: it recorded none. */
export interface Finished {
  readonly page: { readonly host: Host; readonly url: string } | null;
}

/** To what no new requests are made in a turn. */
export interface Held {
  readonly all: boolean;
  host(host: Host): boolean;
}

export interface Visits {
  /** The host has (more) queued URLs. */
  schedule(host: Host): void;
  /** What kept the host (or all hosts) from being visited may be over. */
  wake(host: Host): void;
  wakeAll(): void;
  /** Its delay has changed, or whether it may be visited at all: it is looked at again at once. */
  recheck(host: Host, now: Instant): void;
  /** The same of every host that is `named`, or of all: all that is queued may have to end. */
  recheckAll(now: Instant, named?: (host: Host) => boolean): void;
  /** The view has changed: hosts that are another's are visited no more. */
  keepOnly(owns: (host: Host) => boolean): void;
  /** The host's rows are gone from here; no request to it is open. */
  dropped(host: Host, now: Instant): void;
  /** The last answer for the robots.txt of an origin of the host; null: there was none. */
  robotsOf(host: Host, origin: string, now: Instant): KnownRobots | null;
  /** The robots.txt of the origin is another host's, whose owner says so: the host goes on. */
  robotsTold(host: Host, origin: string, word: RobotsWord, now: Instant): void;
  isOpen(host: Host): boolean;
  /** Requests that are open, with their hosts. */
  open(): Iterable<{ readonly id: number; readonly host: Host }>;
  openCount(): number;
  /** No host is visited, and none that has queued URLs waits for a visit. */
  isEmpty(): boolean;
  /** Visits hosts as far as threads, delays and rights allow. */
  tick(now: Instant, hold: Held): void;
  /**
   * The URLs that the answer to an open request names: the links of a page, or the sitemaps of a
   * robots.txt. The caller routes them before it finishes the request.
   */
  namedBy(outcome: Outcome): NamedUrls;
  finish(outcome: Outcome, now: Instant): Finished;
  /** When `tick` has something to do next, on the monotonic clock; Infinity: nothing. */
  nextAtMs(): number;
}
