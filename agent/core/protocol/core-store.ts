// The port through which the core reaches the durable state: synchronous, so that one turn of the
// loop is one transaction. `agent/storage` implements it over SQLite; the simulator uses the same
// implementation in memory. Nothing here is a promise of durability: that comes with the commit,
// which the runtime makes before it performs effects marked durable.

import type {
  AgentId,
  Host,
  HostFailures,
  Incarnation,
  RowEvent,
  RowsItem,
  UrlItem,
} from './messages.ts';

/** A URL of the outbox: `id` grows with each entry and is never used twice. */
export interface OutboxEntry {
  readonly id: number;
  readonly item: UrlItem;
}

/** With the owner of its host by the view in which it was looked at last. */
export interface PlacedEntry extends OutboxEntry {
  readonly host: Host;
  readonly owner: AgentId;
}

/** Where a URL went that was to be recorded here. */
export type Insertion = 'new' | 'known';

/** What copies are told of a host besides its rows. */
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
  | 'scope';

/** A URL that was skipped by a rule that the operator may change. */
export interface ShutUrl {
  readonly item: UrlItem;
  readonly reason: 'scope' | 'blocked';
  /** Under which it was settled. */
  readonly n: number;
}

export type EventKind =
  | 'join'
  | 'rejoin'
  | 'suspect'
  | 'remove'
  | 'takeover'
  | 'handoff'
  | 'leave'
  | 'complete'
  | 'abort'
  | 'trap'
  | 'robots'
  | 'wal'
  | 'refused'
  | 'order';

export interface Store {
  /** The last incarnation used with this database, 0 if none. */
  incarnation(): Incarnation;
  /** Durable before it returns: an incarnation is stored before its first use. */
  saveIncarnation(inc: Incarnation): void;
  /** The highest incarnation of each agent that was known gone. */
  readonly tombstones: TombstoneStore;
  /** The highest number given so far to a *found* or *done*. */
  counter(): number;
  /** Raises the counter at a start, so that a restored copy never reuses numbers. */
  raiseCounter(atLeast: number): void;

  /** Records a URL on a host of this agent: queued, or skipped for the reason given. */
  enqueue(host: Host, item: UrlItem, skip: SkipReason | null): Insertion;
  /** Sums over the hosts that are this agent's by the last look at them (see `setOwned`). */
  owned(): { hosts: number; hostsWithQueue: number; queued: number; pages: number };
  queuedOf(host: Host): number;
  /** Hosts of which there are rows, in order of discovery, after the one of that number. */
  hostsAfter(number: number, max: number): { number: number; host: Host }[];
  /** How many hosts of this agent a pattern, as in `scope.hosts`, names. */
  hostsNamed(pattern: string): number;
  /** The highest number among them, 0 where there are none. */
  lastHost(): number;

  /** Adds a URL for another agent, or finds the entry that is there already; gives its id. */
  addToOutbox(host: Host, owner: AgentId, item: UrlItem): number;
  outboxCount(): number;
  /** The last id given out in the life of the database. */
  lastOutboxId(): number;
  /** The lowest id still there, or null when the outbox is empty. */
  outboxFirst(): number | null;
  /** Entries of that owner, those up to this id. */
  outboxOf(owner: AgentId, max: number, upTo: number): OutboxEntry[];
  /** In order of their ids, those above `after`. */
  outboxAfter(after: number, max: number): PlacedEntry[];
  rerouteOutbox(id: number, owner: AgentId): void;
  removeFromOutbox(ids: readonly number[]): void;
  /**
   * Removes what its owner has taken; gives the ids of what was removed. An entry that has a smaller
   * depth since it was sent, or is a sitemap since, stays: the owner does not know that.
   */
  removeTaken(sent: readonly OutboxEntry[]): number[];

  // Rows of hosts, for their copies at other agents (PROTOCOL rule 11).

  /** The highest *found* or *done* number among the host's rows, 0 if there are none. */
  lastNumber(host: Host): number;
  /** Whether some host has got numbers that `takeChangedHosts` has not told of. */
  hasChangedHosts(): boolean;
  /** Hosts that got numbers since the last call, whoever caused it. */
  takeChangedHosts(): Iterable<Host>;
  /**
   * Up to `max` events numbered above `after`, in order; `to` is the number they reach. What has an
   * age is told as old as it will be at `arrivesBy`.
   */
  rowEvents(
    host: Host,
    after: number,
    max: number,
    arrivesBy: number,
  ): { events: RowEvent[]; to: number };
  /** Events up to this number will not be asked for again soon. */
  trimRowEvents(host: Host, upTo: number): void;
  /** Applies rows of `from` above the mark kept for it, and raises the mark with them. */
  applyRows(
    from: AgentId,
    item: RowsItem,
    owned: boolean,
    now: number,
  ): { mark: number; changed: boolean };
  markOf(host: Host, sender: AgentId): number;
  /**
   * Forgets the sender's marks above `n`, and raises the generation if there are any. Returns their
   * hosts.
   */
  forgetMarksAbove(sender: AgentId, n: number): Host[];
  /** Grows when marks are forgotten, alone or with a copy that is deleted. */
  generation(): number;
  /**
   * The host is unknown from now on, and the generation raised; its rows are deleted by `deleteSome`.
   */
  deleteHost(host: Host): void;
  /** Deletes some rows, those of `max` URLs at most, of deleted hosts; false: none are left. */
  deleteSome(max: number): boolean;
  /** The end of the host's back-off on the monotonic clock, 0 if it never had one. */
  backoffUntil(host: Host): number;
  /** The host's delay as its owner told it last, 0 where nothing is known. */
  delayOf(host: Host): number;
  /** Steps of back-off taken because the host was busy, and its stale pages; 0 if there are none. */
  countsOf(host: Host, now: number): HostCounts;
  /** Whether the SQL views show the host as this agent's. */
  setOwned(host: Host, owned: boolean): void;

  /** Gives a fetched page its *done* number: all that it links to is safe. */
  settle(host: Host, url: string): void;
  /** Pages fetched in an earlier life whose links may still be in the outbox. */
  unsettled(max: number): { host: Host; url: string }[];
  /** Ends a URL that no agent would take: `failed` with this error code. */
  failUrl(host: Host, item: UrlItem, error: string, now: number): void;

  /** The round in which URLs are found now; 0 is the first. */
  round(): number;
  beginRound(round: number): void;
  /** Looks at up to `max` URLs of the host; `over`: all that are asked again are queued by now. */
  queueAgain(host: Host, max: number): { queued: number; over: boolean };

  /** Whether URLs may have been skipped by the scope or by a block. */
  hasShutUrls(): boolean;
  /** The first of them, of a host, that were settled under numbers above `after`. */
  shutUrls(host: Host, after: number, max: number): ShutUrl[];
  /** Queues one of them again, in a later round. */
  reopenUrl(host: Host, url: string): void;

  event(at: number, kind: EventKind, detail: Readonly<Record<string, unknown>>): void;
}

/** Agents that are known gone, each with the highest incarnation that is. */
export interface TombstoneStore {
  all(): readonly { id: AgentId; inc: Incarnation }[];
  save(id: AgentId, inc: Incarnation): void;
  drop(id: AgentId): void;
}
