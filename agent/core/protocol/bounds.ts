// How much of anything the protocol takes at a time, and how much may wait: every message, queue
// and step has its maximum here, with its reason. The simulator draws smaller ones, so that lists
// and streams have many parts and the queues are full.

export interface Bounds {
  /** Events in one ROWS, of all hosts together. */
  readonly rowEvents: number;
  /** Hosts in one ROWS. */
  readonly rowHosts: number;
  /** URLs in one batch. */
  readonly batchUrls: number;
  /** Hosts in one part of a list. */
  readonly listHosts: number;
  /** Parts that a list of another agent may have: one with more has no end. */
  readonly listParts: number;
  /** Hosts in one YIELD or YIELD_ACK. */
  readonly yieldHosts: number;
  /** URLs in the outbox above which hosts with such URLs are held; at twice as many all are. */
  readonly outbox: number;
  /** Pages that wait to be settled above which the visits pause. */
  readonly unsettled: number;
  /** Pages fetched and not copied yet at which the visits pause (`unreplicated.ts`): the threads. */
  readonly unreplicated: number;
  /** URLs in the filter of repeats (`seen-filter.ts`), a power of two. */
  readonly seenUrls: number;
  /** URLs of which one message says that they are known, and that wait for it. */
  readonly knownUrls: number;
  /** Other members up to which they are told. */
  readonly knownMembers: number;
  /** Hosts looked up in one turn, for each of the searches that a new view starts. */
  readonly hostsPerTurn: number;
  /** Hosts whose streams to other agents are looked at in one turn (`replication.ts`). */
  readonly streamHosts: number;
  /** Pages that are tried again in one turn, when the view has changed (`settlement.ts`). */
  readonly triedPages: number;
  /** Links, seeds or entries of the outbox in one piece of the backlog (`backlog.ts`). */
  readonly pieceUrls: number;
  /** URLs looked at in one turn when a new round begins. */
  readonly refreshUrls: number;
  /** Other members of whom one heartbeat has news. */
  readonly news: number;
  /** Members that the config does not have: each has a link. */
  readonly unconfigured: number;
  /** Capacity of all of them together: each has that many times `replicas` points on the ring. */
  readonly unconfiguredCapacity: number;
  /** How long a host waits for the robots.txt of another that its own leads to. */
  readonly robotsWaitMs: number;
}

export const BOUNDS: Bounds = {
  // Some 100 KB.
  rowEvents: 800,
  // Most have one page's worth of events.
  rowHosts: 400,
  // Far under the frame's cap.
  batchUrls: 400,
  // Some 30 KB, and parts go one at a time.
  listHosts: 1000,
  // Four million hosts, some 600 MB of names here.
  listParts: 4000,
  yieldHosts: 500,
  // What the peers do not take must not pile up without end.
  outbox: 50_000,
  // Some 10 MB, and minutes of fetching.
  unsettled: 20_000,
  unreplicated: 64,
  // 1 MB; a few pages' worth of links for every thread, and of a site all there are as a rule.
  seenUrls: 2 ** 17,
  // 33 KB in a second, for faster agents than there are.
  knownUrls: 3000,
  // A link to another host is found by that many agents at the most (docs/adr/0037).
  knownMembers: 32,
  // Some ten milliseconds.
  hostsPerTurn: 1000,
  // Some ten milliseconds.
  streamHosts: 4000,
  // Some milliseconds, as each may depend on several hosts.
  triedPages: 500,
  // Less than a millisecond; most pages have fewer links.
  pieceUrls: 50,
  // Some milliseconds.
  refreshUrls: 500,
  // Some 4 KB. With more members each is told of all of them in turn (`membership.ts`).
  news: 32,
  unconfigured: 256,
  // 200,000 points, of which a new ring takes some tenths of a second.
  unconfiguredCapacity: 1024,
  // The other is queued for as long, so the crawl would not end sooner without; what is busy is
  // given up within four hours. It counts as one attempt of four, so a day is the longest.
  robotsWaitMs: 6 * 3600 * 1000,
};
