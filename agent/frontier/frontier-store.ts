// The port through which the visits reach the durable frontier. Hosts are named by the number of
// their discovery; URLs by their identity. Implemented by `agent/storage`; every call belongs to
// the turn's transaction. Times are on the monotonic clock of the process (which reads like Unix
// milliseconds), so that waits survive a restart and no step of the wall clock hurries them.

import type { SkipReason } from '../core/protocol/core-store.ts';
import type { Host, PageRow } from '../core/protocol/messages.ts';
import type { Identity, RequestForm } from '../url/crawl-url.ts';

export interface HostRecord {
  /** Order of discovery; hosts are visited in it. */
  readonly number: number;
  readonly host: Host;
  /** Earliest next request by back-off, 0 if none. */
  notBefore: number;
  /** End of the last request, null if this database knows of none. */
  lastFetchAt: number | null;
  /** Steps of back-off after 429 and 503, and the end of the last block (0: there was none). */
  busy: number;
  busyUntil: number;
  /** Since when it has answered nothing but 429 and 503; null where its last answer was better. */
  busySince: number | null;
  /** How many such answers since then. */
  blocks: number;
  /** Waits in a row because the host could not be reached or did not answer. */
  unconnected: number;
  /** Requests in a row that reached the host and got no answer, or a slow failure. */
  unanswered: number;
  /** The delay after its last request, 0 before the first. */
  delayMs: number;
  /** How far pages that are not new outweigh new ones (`novelty.ts`). */
  stale: number;
}

/** How queued URLs of a host end without a request of their own. */
export interface QueueEnding {
  /** Scheme, host and port of the URLs that end; null: all of the host. */
  readonly origin: string | null;
  readonly as:
    | { readonly kind: 'skipped'; readonly reason: SkipReason }
    | { readonly kind: 'failed'; readonly error: string };
  /** The host is given up, for what its record tells. */
  readonly ofHost?: true;
}

/** Up to where the queue of a host was looked at, in the order of the queue. */
export type QueuePlace = readonly [notBefore: number, depth: number, found: number];

export interface QueuedUrl {
  readonly url: Identity;
  readonly fetchUrl: RequestForm;
  readonly depth: number;
  readonly attempts: number;
  /** End of the first of those attempts; absent: there was none, or it is not known here. */
  readonly failedSince?: number;
  /** Redirects to another form of the same identity that led to this form; absent: none. */
  readonly hops?: number;
  /** Where it was found first; absent for seeds. */
  readonly referrer?: string;
  /** Named as a sitemap (UrlItem). */
  readonly sitemap?: boolean;
  /** The page as it was in the round before; absent where it is to be read whole. */
  readonly former?: PageRow;
}

export interface Retry {
  /** Including the one that failed. */
  readonly attempts: number;
  /** End of the first of them. */
  readonly failedSince: number;
  readonly notBefore: number;
}

/** Where a redirect to the page's own identity leads. */
export interface FormHop {
  readonly fetchUrl: RequestForm;
  /** Redirects followed so far, this one included. */
  readonly hops: number;
}

/** Redirects by way of other URLs that led back to a page. */
export interface WayBack {
  /** The last of those URLs. */
  readonly from: Identity;
  readonly fetchUrl: RequestForm;
  /** The request differs from the former one even in the same form. */
  readonly isOther: boolean;
  /** Of the redirects on the way, and of the times that the page is queued again. */
  readonly hopsMax: number;
}

/** A finished page: its row (null status with an error code: no response came) and its URL. */
export interface PageRecord extends PageRow {
  readonly url: Identity;
  readonly attempts: number;
}

/** How far the look-up of a robots.txt has followed redirects. */
export interface RobotsHop {
  /** The next URL to request; on another host only its owner requests it. */
  readonly location: string;
  /** Redirects followed so far, the one to `location` included. */
  readonly hops: number;
}

/**
 * The last answer to a request for an origin's robots.txt, and the progress of a look-up that has
 * not ended. Everything that the next visit, process or owner needs to continue is in it.
 */
export interface RobotsRecord {
  readonly kind: 'rules' | 'allowAll' | 'unreachable' | 'redirected';
  readonly fetchedAt: number;
  readonly body: Uint8Array | null;
  /** Failed attempts in a row; a redirect neither counts as one nor resets them. */
  readonly attempts: number;
  /** End of the first of them; absent where there was none. */
  readonly failedSince?: number;
  /** Unreachable: when the next attempt is due. */
  readonly retryAt: number;
  readonly reason: string;
  /** Where it leads: within its host (`redirected`), or to another (`unreachable` until told). */
  readonly hop?: RobotsHop;
  /** The Crawl-delay of the last rules read; absent: none. It stands until other rules are read. */
  readonly crawlDelayMs?: number;
}

/** A host that has queued URLs. */
export interface QueuedHost {
  readonly number: number;
  readonly host: Host;
  /** False: a copy of another's (see `setOwned` of the core's store). */
  readonly owned: boolean;
}

export interface FrontierStore {
  host(host: Host): HostRecord;
  /** The first hosts with queued URLs from that number on, in the order of their numbers. */
  queuedFrom(number: number, max: number): QueuedHost[];
  saveHost(record: HostRecord, ip: string | null): void;
  /** URLs of the host that ended with a response or failed. */
  pagesDone(hostNumber: number): number;
  /**
   * The first queued URL by depth, then order found, whose own wait is over. `at`: the last of them
   * instead, or about as far from the first to the last as the number says (0 up to 1).
   */
  nextUrl(hostNumber: number, now: number, at?: 'last' | number): QueuedUrl | null;
  /** The form in which a page was requested that ended with a good response; null: none did. */
  goodForm(hostNumber: number, url: Identity): RequestForm | null;
  /** When the host's next queued URL may be asked for (0: at once), or null if none is queued. */
  nextUrlAt(hostNumber: number): number | null;
  /** Ends a queued URL with its record; one that has ended already stays as it is. */
  recordPage(hostNumber: number, page: PageRecord): void;
  /** What the page links to, for the view `links`; in place of what it did before. */
  saveLinks(source: string, targets: readonly string[]): void;
  requeue(hostNumber: number, url: string, retry: Retry): void;
  /**
   * A page that ended with a redirect is queued again. False: it has not ended so, it does not lead
   * to `from`, it has been queued for such a reason as often as it may, or the same request would be
   * made.
   */
  askAgain(hostNumber: number, url: Identity, way: WayBack): boolean;
  /** The queued URL is requested in another form from now on, with no failed attempt yet. */
  moveTo(hostNumber: number, url: string, hop: FormHop): void;
  skip(hostNumber: number, url: string, reason: SkipReason): void;
  /**
   * Ends up to `max` queued URLs, waiting ones too, and looks at some thousand at most. Gives how
   * many, and where to go on; null: all were looked at.
   */
  endQueued(
    hostNumber: number,
    ending: QueueEnding,
    now: number,
    max: number,
    after?: QueuePlace | null,
  ): { readonly ended: number; readonly upTo: QueuePlace | null };
  countOutOfScope(hostNumber: number, links: number): void;
  robots(hostNumber: number, origin: string): RobotsRecord | null;
  saveRobots(hostNumber: number, origin: string, record: RobotsRecord): void;
  /** The longest Crawl-delay among the host's robots.txt files; 0: none. */
  crawlDelay(hostNumber: number): number;
}
