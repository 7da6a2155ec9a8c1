// The port through which the visits reach the durable frontier. Hosts are named by the number of
// their discovery; URLs by their identity. Implemented by `agent/storage`; every call belongs to
// the turn's transaction. Times are on the monotonic clock of the process (which reads like Unix
// milliseconds), so that waits survive a restart and no step of the wall clock hurries them.

import type { Host, PageRow } from '../core/messages.ts';
import type { SkipReason } from '../core/store.ts';

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
  /** Failed connections in a row. */
  unconnected: number;
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
}

export interface QueuedUrl {
  readonly url: string;
  readonly fetchUrl: string;
  readonly depth: number;
  readonly attempts: number;
  /** Where it was found first; absent for seeds. */
  readonly referrer?: string;
  /** The page as it was in the round before; absent where it is to be read whole. */
  readonly former?: PageRow;
}

/** A finished page: its row (null status with an error code: no response came) and its URL. */
export interface PageRecord extends PageRow {
  readonly url: string;
  readonly attempts: number;
}

/** The last answer to a request for an origin's robots.txt. */
export interface RobotsRecord {
  readonly kind: 'rules' | 'allowAll' | 'unreachable';
  readonly fetchedAt: number;
  readonly body: Uint8Array | null;
  /** Unreachable: consecutive attempts, and when the next one is due. */
  readonly attempts: number;
  readonly retryAt: number;
  readonly reason: string;
}

export interface FrontierStore {
  host(host: Host): HostRecord;
  saveHost(record: HostRecord, ip: string | null): void;
  /** URLs of the host that ended with a response or failed. */
  pagesDone(hostNumber: number): number;
  /** The first queued URL by depth, then order found, whose own wait is over. */
  nextUrl(hostNumber: number, now: number): QueuedUrl | null;
  /** When the host's next queued URL may be asked for (0: at once), or null if none is queued. */
  nextUrlAt(hostNumber: number): number | null;
  /** Ends a queued URL with its record; one that has ended already stays as it is. */
  recordPage(hostNumber: number, page: PageRecord): void;
  /** What the page links to, for the view `links`; in place of what it did before. */
  saveLinks(source: string, targets: readonly string[]): void;
  requeue(hostNumber: number, url: string, attempts: number, notBefore: number): void;
  skip(hostNumber: number, url: string, reason: SkipReason): void;
  /** Ends up to `max` queued URLs, waiting ones too. Gives how many; fewer than `max`: all. */
  endQueued(hostNumber: number, ending: QueueEnding, now: number, max: number): number;
  countOutOfScope(hostNumber: number, links: number): void;
  robots(hostNumber: number, origin: string): RobotsRecord | null;
  saveRobots(hostNumber: number, origin: string, record: RobotsRecord): void;
}
