// The port to the durable frontier. Hosts are identified by the number of their discovery, URLs by
// their identity. Each call is part of the turn's transaction. Times are on the process's monotonic
// clock, which starts at the Unix time in milliseconds: waits survive a restart, and a step of the
// wall clock does not shorten them.

import type { SkipReason } from '../core/protocol/core-store.ts';
import type { Host, KnownUrl, PageRow } from '../core/protocol/messages.ts';
import type { Identity, RequestForm } from '../url/crawl-url.ts';

export interface HostRecord {
  /** Order of discovery. New hosts are visited in this order. */
  readonly number: number;
  readonly host: Host;
  /** Earliest time of the next request because of back-off; 0: none. */
  notBefore: number;
  /** End of the last request; null: this database has none. */
  lastFetchAt: number | null;
  /** Back-off steps after 429 and 503. */
  busy: number;
  /** End of the last back-off after 429 or 503; 0: there was none. */
  busyUntil: number;
  /** Time since which every response was 429 or 503; null: the last one was not. */
  busySince: number | null;
  /** Number of back-offs since then. */
  blocks: number;
  /** Consecutive waits because the host was unreachable or did not answer. */
  unconnected: number;
  /** Consecutive requests that reached the host but got no response or a slow failure. */
  unanswered: number;
  /** The delay that the host demanded at the last request, as by its Crawl-delay; 0: none. */
  delayMs: number;
  /** Duplicate score: how far repeated pages outweigh new ones (`novelty.ts`). */
  stale: number;
}

/** The outcome of queued URLs that end without a request of their own. */
export interface QueueDrop {
  /** Scheme, host and port of the URLs that end; null: all URLs of the host. */
  readonly origin: string | null;
  readonly as:
    | { readonly kind: 'skipped'; readonly reason: SkipReason }
    | { readonly kind: 'failed'; readonly error: string };
  /** The host was abandoned; its failure counters are reset when the queue has ended. */
  readonly ofHost?: true;
}

/** A position in a host's queue, in queue order: the last entry that was examined. */
export type QueuePlace = readonly [notBefore: number, depth: number, found: number];

export type QueuedUrl = Omit<KnownUrl, 'host'>;

export interface Retry {
  /** Failed attempts, including the last one. */
  readonly attempts: number;
  /** End of the first failed attempt; null: none failed. */
  readonly failedSince: number | null;
  readonly notBefore: number;
}

/** A redirect from one form of an identity to another. */
export interface FormHop {
  readonly fetchUrl: RequestForm;
  /** Redirects followed so far, including this one. */
  readonly hops: number;
}

/** A chain of redirects over other URLs that led back to a page. */
export interface WayBack {
  /** The last URL of the chain before the page. */
  readonly from: Identity;
  readonly fetchUrl: RequestForm;
  /** The request differs from the previous one even if the form is the same. */
  readonly isOther: boolean;
  /** The request has no conditions: the links that the page had are lost. */
  readonly isWhole: boolean;
  /** Maximum number of redirects in the chain, and of times the page is requeued. */
  readonly hopsMax: number;
}

/** A finished page. A null status with an error code means that there was no response. */
export interface PageRecord extends PageRow {
  readonly url: Identity;
  readonly attempts: number;
}

/** Progress of a robots.txt look-up that follows redirects. */
export interface RobotsHop {
  /** The next URL to request. If it is on another host, only that host's owner requests it. */
  readonly location: string;
  /** Redirects followed so far, including the one to `location`. */
  readonly hops: number;
}

/**
 * The last response for an origin's robots.txt, and the progress of an unfinished look-up. The next
 * visit, process or owner needs nothing else to continue.
 */
export interface RobotsRecord {
  readonly kind: 'rules' | 'allowAll' | 'unreachable' | 'redirected';
  readonly fetchedAt: number;
  readonly body: Uint8Array | null;
  /** Consecutive failed attempts. A redirect neither counts as one nor resets the number. */
  readonly attempts: number;
  /** End of the first of these attempts; absent: none failed. */
  readonly failedSince?: number;
  /** If unreachable: time of the next attempt; Infinity: no attempt is left. */
  readonly retryAt: number;
  readonly reason: string;
  /** Redirect target, on the same host (`redirected`) or another one (`unreachable`). */
  readonly hop?: RobotsHop;
  /** Crawl-delay of the last rules read; absent: none. It applies until other rules are read. */
  readonly crawlDelayMs?: number;
}

export interface QueuedHost {
  readonly number: number;
  readonly host: Host;
  /** False: this agent only has a copy of the host (see `setOwned` of the core's store). */
  readonly owned: boolean;
}

export interface FrontierStore {
  host(host: Host): HostRecord;
  /** The first `max` hosts with queued URLs whose number is at least `number`, ascending. */
  queuedFrom(number: number, max: number): QueuedHost[];
  saveHost(record: HostRecord, ip: string | null): void;
  /** What the host demands in milliseconds, 0 if unknown. */
  delayOf(host: Host): number;
  /** Number of the host's URLs that are done or failed. */
  pagesDone(hostNumber: number): number;
  /**
   * The next queued URL, by depth, then discovery, whose own wait is over. `at` selects the last
   * one instead, or one at about this fraction (0 up to 1) of the queue.
   */
  nextUrl(hostNumber: number, now: number, at?: 'last' | number): QueuedUrl | null;
  /** The form that the page was requested in, if it ended with a good response; else null. */
  goodForm(hostNumber: number, url: Identity): RequestForm | null;
  /**
   * Earliest time to request the host's next queued URL (0: at once); null: the queue is empty;
   * `networks`: all queued URLs wait for other networks.
   */
  nextUrlAt(hostNumber: number): number | 'networks' | null;
  /** Ends a queued URL with its record. Has no effect if the URL has ended already. */
  recordPage(hostNumber: number, page: PageRecord): void;
  /**
   * Replaces the targets of the page in the view `links`.
   *
   * @param wasRead - the page was read before, so it is also stored that it has no links
   */
  saveLinks(source: string, targets: readonly string[], wasRead?: boolean): void;
  requeue(hostNumber: number, url: string, retry: Retry): void;
  /**
   * Requeues a page that ended with a redirect.
   * @returns false if the page did not end with a redirect or does not lead to `from`, if it was
   *   requeued for this reason `hopsMax` times, or if the request would be the same
   */
  requestAgainAs(hostNumber: number, url: Identity, way: WayBack): boolean;
  /** How many redirects in a row led to the URL over pages of its host; counts up to `max`. */
  redirectsTo(hostNumber: number, url: Identity, max: number): number;
  /** Changes the form in which the queued URL is requested, and resets its failed attempts. */
  moveTo(hostNumber: number, url: string, hop: FormHop): void;
  skip(hostNumber: number, url: string, reason: SkipReason): void;
  /**
   * Ends up to `max` queued URLs, including those that wait for a retry. Examines a few thousand
   * rows at most.
   * @returns the number of ended URLs, and where to continue (null: all were examined)
   */
  endQueued(
    hostNumber: number,
    queueDrop: QueueDrop,
    now: number,
    max: number,
    after?: QueuePlace | null,
  ): { readonly ended: number; readonly upTo: QueuePlace | null };
  countOutOfScope(hostNumber: number, links: number): void;
  robots(hostNumber: number, origin: string): RobotsRecord | null;
  saveRobots(hostNumber: number, origin: string, record: RobotsRecord): void;
  /** The longest Crawl-delay of the host's robots.txt files; 0: none. */
  crawlDelay(hostNumber: number): number;
}
