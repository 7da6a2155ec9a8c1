// The core's interface to the durable state. It is synchronous, so one turn is one transaction.
// `agent/storage` implements it over SQLite; the simulator uses the same implementation in memory.
// Changes are durable only after the commit, which the runtime makes before durable effects.

import type { EventStore } from './event-log.ts';
import type {
  AgentId,
  Host,
  HostFailures,
  Incarnation,
  RowEvent,
  RowsItem,
  UrlItem,
} from './messages.ts';

/** A URL in the outbox: `id` grows with each entry and is never reused. */
export interface OutboxEntry {
  readonly id: number;
  readonly item: UrlItem;
}

/** An outbox entry with its host and the owner that was last looked up for it. */
export interface PlacedEntry extends OutboxEntry {
  readonly host: Host;
  readonly owner: AgentId;
}

/** Whether `enqueue` added the URL. */
export type Insertion = 'new' | 'known';

/** Counts of a host that its copies receive with the rows (RowsItem). */
export interface HostCounts {
  readonly busy: number;
  readonly stale: number;
  readonly failures?: HostFailures;
}

/** Why a known URL is deliberately not fetched (docs/VIEWS.md). */
export type SkipReason =
  | 'robots'
  | 'depth'
  | 'pages'
  | 'length'
  | 'scheme'
  | 'blocked'
  | 'trap'
  | 'type'
  | 'scope'
  | Elsewhere;

/** Another network has the page; its name follows (docs/NETWORKS.md). */
export type Elsewhere = `elsewhere ${string}`;

/** A URL that was skipped because of a rule that the operator may change. */
export interface ShutUrl {
  readonly item: UrlItem;
  readonly reason: 'scope' | 'blocked';
  /** The *done* number of the URL. */
  readonly n: number;
}

export interface Store extends EventStore {
  /** The last incarnation used with this database, 0 if none. */
  incarnation(): Incarnation;
  /** The incarnation is durable when this returns, and so before its first use. */
  saveIncarnation(inc: Incarnation): void;
  readonly tombstones: TombstoneStore;
  /** The highest event number so far. */
  counter(): number;
  /** Raises the counter at the start, so that a restored database never reuses numbers. */
  raiseCounter(atLeast: number): void;

  /** Records a URL on a host of this agent: queued, or skipped for the given reason. */
  enqueue(host: Host, item: UrlItem, skip: SkipReason | null): Insertion;
  /** Totals over the hosts that are marked as this agent's (see `setOwned`). */
  owned(): { hosts: number; hostsWithQueue: number; queued: number; pages: number };
  queuedOf(host: Host): number;
  /** Whether a queued URL of the host may be requested, now or later. */
  hasUrlFor(host: Host): boolean;
  /** Up to `max` hosts with queued URLs, from this number on, whoever owns them. */
  queuedFrom(number: number, max: number): readonly { readonly host: Host }[];
  /** Hosts that have rows here, in order of discovery, after the host of that number. */
  hostsAfter(number: number, max: number): { number: number; host: Host }[];
  /** How many hosts of this agent match a pattern as in `scope.hosts`. */
  hostsNamed(pattern: string): number;
  /** The highest host number, 0 if there are no hosts. */
  lastHost(): number;

  /** Adds a URL for another agent, or finds its entry; returns the entry's id. */
  addToOutbox(host: Host, owner: AgentId, item: UrlItem): number;
  outboxCount(): number;
  /** The last id that this database has assigned. */
  lastOutboxId(): number;
  /** The lowest id in the outbox, or null if it is empty. */
  outboxFirst(): number | null;
  /** Entries of that owner with ids up to `upTo`. */
  outboxOf(owner: AgentId, max: number, upTo: number): OutboxEntry[];
  /** Entries with ids above `after`, in order of their ids. */
  outboxAfter(after: number, max: number): PlacedEntry[];
  rerouteOutbox(id: number, owner: AgentId): void;
  /** Reroutes all entries of a host from one owner to another. */
  rerouteHost(host: Host, from: AgentId, to: AgentId): void;
  removeFromOutbox(ids: readonly number[]): void;
  /**
   * Removes entries that their owner has acknowledged; returns the ids of the removed ones. An
   * entry whose depth has fallen, or that has become a sitemap, since it was sent stays in the
   * outbox.
   */
  removeTaken(sent: readonly OutboxEntry[]): number[];

  // Rows of hosts, for their copies at other agents (PROTOCOL rule 11).

  /** The highest event number among the host's rows, 0 if there are none. */
  lastNumber(host: Host): number;
  /** Whether `takeChangedHosts` would return a host. */
  hasChangedHosts(): boolean;
  /** Hosts that have new events since the last call. */
  takeChangedHosts(): Iterable<Host>;
  /**
   * Up to `max` events numbered above `after`, in order; `to` is the number that they reach. Ages
   * in them are as they will be at `arrivesBy`.
   */
  rowEvents(
    host: Host,
    after: number,
    max: number,
    arrivesBy: number,
  ): { events: RowEvent[]; to: number };
  /** Events up to this number are not needed soon and may leave the cache. */
  trimRowEvents(host: Host, upTo: number): void;
  /** Applies the sender's events above its mark, and raises the mark in the same transaction. */
  applyRows(
    from: AgentId,
    item: RowsItem,
    owned: boolean,
    now: number,
  ): { mark: number; changed: boolean };
  markOf(host: Host, sender: AgentId): number;
  /** Forgets the sender's marks above `n`; if any, raises the generation. Returns their hosts. */
  forgetMarksAbove(sender: AgentId, n: number): Host[];
  /** Grows when marks are forgotten, alone or with a deleted copy. */
  generation(): number;
  /** Makes the host unknown and raises the generation. `deleteSome` deletes its rows. */
  deleteHost(host: Host): void;
  /** Deletes the rows of up to `max` URLs of deleted hosts; returns false if none are left. */
  deleteSome(max: number): boolean;
  /** The end of the host's back-off on the monotonic clock, 0 if it never had one. */
  backoffUntil(host: Host): number;
  /** The host's delay as its owner last reported it, 0 if unknown. */
  delayOf(host: Host): number;
  countsOf(host: Host, now: number): HostCounts;
  /** Sets whether the SQL views show the host as this agent's. */
  setOwned(host: Host, owned: boolean): void;

  /** Gives a fetched page its *done* number. */
  settle(host: Host, url: string): void;
  /** Fetched pages that have no *done* number. */
  unsettled(max: number): { host: Host; url: string }[];
  /** Ends a URL that no agent accepts: `failed` with this error code. */
  failUrl(host: Host, item: UrlItem, error: string, now: number): void;

  /** The current round; the first is 0. */
  round(): number;
  beginRound(round: number): void;
  /** Checks up to `max` URLs of the host; `over`: all that are due in this round are queued. */
  requeueKnown(host: Host, max: number): { queued: number; over: boolean };

  /** Whether URLs may have been skipped because of the scope or a block. */
  hasShutUrls(): boolean;
  /** Such URLs of a host with *done* numbers above `after`, the lowest first. */
  shutUrls(host: Host, after: number, max: number): ShutUrl[];
  /** Requeues one of them, in a later round. */
  reopenUrl(host: Host, url: string): void;
}

/** The highest removed incarnation of each agent. */
export interface TombstoneStore {
  all(): readonly { id: AgentId; inc: Incarnation }[];
  save(id: AgentId, inc: Incarnation): void;
  drop(id: AgentId): void;
}
