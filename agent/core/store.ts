// The port through which the core reaches the durable state: synchronous, so that one turn of the
// loop is one transaction. `agent/storage` implements it over SQLite; the simulator uses the same
// implementation in memory. Nothing here is a promise of durability: that comes with the commit,
// which the runtime makes before it performs effects marked durable.

import type { AgentId, Host, Incarnation, UrlItem } from './messages.ts';

/** A URL of the outbox: `id` grows with each entry and is never used twice. */
export interface OutboxEntry {
  readonly id: number;
  readonly item: UrlItem;
}

/** Where a URL went that was to be recorded here. */
export type Insertion = 'new' | 'known';

/** Why a known URL is deliberately not fetched (CONTRACT, view `skipped`). */
export type SkipReason =
  | 'robots'
  | 'depth'
  | 'pages'
  | 'length'
  | 'scheme'
  | 'blocked'
  | 'trap'
  | 'type';

export type EventKind =
  | 'join'
  | 'rejoin'
  | 'suspect'
  | 'remove'
  | 'takeover'
  | 'handoff'
  | 'leave'
  | 'complete';

export interface Store {
  /** The last incarnation used with this database, 0 if none. */
  incarnation(): Incarnation;
  /** Durable before it returns: an incarnation is stored before its first use. */
  saveIncarnation(inc: Incarnation): void;
  /** The highest number given so far to a *found* or *done*. */
  counter(): number;
  /** Raises the counter at a start, so that a restored copy never reuses numbers. */
  raiseCounter(atLeast: number): void;

  /** Records a URL on a host of this agent: queued, or skipped for the reason given. */
  insertUrl(host: Host, item: UrlItem, skip: SkipReason | null): Insertion;
  /** Number of queued URLs of all hosts in this database. */
  queuedCount(): number;
  /** Number of URLs that ended with a response or failed. */
  pageCount(): number;
  queuedOf(host: Host): number;
  /** All hosts of which there are rows, in order of discovery. */
  hosts(): Host[];
  hostsWithQueue(): Host[];
  /** Takes up to `max` queued URLs of a host out of the table, to be sent to its new owner. */
  takeQueued(host: Host, max: number): UrlItem[];

  /** Adds a URL for another agent, or finds the entry that is there already; gives its id. */
  addToOutbox(host: Host, owner: AgentId, item: UrlItem): number;
  outboxCount(): number;
  /** The last id given out in the life of the database. */
  lastOutboxId(): number;
  /** The lowest id still there, or null when the outbox is empty. */
  outboxFirst(): number | null;
  outboxOf(owner: AgentId, max: number): OutboxEntry[];
  outboxHosts(): { host: Host; owner: AgentId }[];
  rerouteOutbox(host: Host, owner: AgentId): void;
  outboxEntriesOf(host: Host): OutboxEntry[];
  removeFromOutbox(ids: readonly number[]): void;

  /** Gives a fetched page its *done* number: all that it links to is safe. */
  settle(host: Host, url: string): void;
  /** Pages fetched in an earlier life whose links may still be in the outbox. */
  unsettled(max: number): { host: Host; url: string }[];
  /** Ends a URL that no agent would take: `failed` with this error code. */
  failUrl(host: Host, item: UrlItem, error: string, now: number): void;

  event(at: number, kind: EventKind, detail: Readonly<Record<string, unknown>>): void;
}
