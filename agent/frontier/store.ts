// The port through which the visits reach the durable frontier. Hosts are named by the number of
// their discovery; URLs by their identity. Implemented by `agent/storage`; every call belongs to
// the turn's transaction. Times are on the monotonic clock of the process (which reads like Unix
// milliseconds), so that waits survive a restart and no step of the wall clock hurries them.

import type { Host } from '../core/messages.ts';
import type { SkipReason } from '../core/store.ts';

export interface HostRecord {
  /** Order of discovery; hosts are visited in it. */
  readonly number: number;
  readonly host: Host;
  /** URLs that ended with a response or failed. */
  pagesDone: number;
  /** Earliest next request by back-off, 0 if none. */
  notBefore: number;
  /** End of the last request, null if this database knows of none. */
  lastFetchAt: number | null;
  busy: number;
  unconnected: number;
}

export interface QueuedUrl {
  readonly url: string;
  readonly fetchUrl: string;
  readonly depth: number;
  readonly attempts: number;
}

export interface PageRecord {
  readonly url: string;
  /** Null with an error code: no response came. */
  readonly status: number | null;
  readonly error: string | null;
  readonly contentType: string | null;
  readonly bytes: number;
  readonly digest: string | null;
  readonly fetchedAt: number;
  readonly durationMs: number;
  readonly redirectTo: string | null;
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
  /** The first queued URL by depth, then order found, whose own wait is over. */
  nextUrl(hostNumber: number, now: number): QueuedUrl | null;
  /** The earliest wait of the host's queued URLs, or null if none is queued. */
  nextUrlAt(hostNumber: number): number | null;
  recordPage(hostNumber: number, page: PageRecord): void;
  requeue(hostNumber: number, url: string, attempts: number, notBefore: number): void;
  skip(hostNumber: number, url: string, reason: SkipReason): void;
  /** Skips whatever the host has queued. Gives their number. */
  skipQueued(hostNumber: number, reason: SkipReason): number;
  /** Ends the host's queued URLs of one origin as failed. Gives their number. */
  failQueued(hostNumber: number, origin: string, error: string, now: number): number;
  skipQueuedOf(hostNumber: number, origin: string, reason: SkipReason): number;
  countOutOfScope(hostNumber: number, links: number): void;
  robots(hostNumber: number, origin: string): RobotsRecord | null;
  saveRobots(hostNumber: number, origin: string, record: RobotsRecord): void;
}
