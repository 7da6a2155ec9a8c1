// The maximum of every message, queue and step of the protocol, with its reason. The simulator
// uses smaller values, so that lists and streams have many parts and queues fill up.

export const BOUNDS = {
  /** Events in one ROWS, over all hosts: about 100 KB. */
  rowEvents: 800,
  /** Hosts in one ROWS. Most hosts have the events of one page. */
  rowHosts: 400,
  /** URLs in one batch: far below the maximum size of a frame. */
  batchUrls: 400,
  /** Hosts in one part of a list: about 30 KB. Parts are sent one at a time. */
  listHosts: 1000,
  /** Parts in one received list: four million hosts, about 600 MB of names. */
  listParts: 4000,
  /** Hosts in one YIELD or YIELD_ACK. */
  yieldHosts: 500,
  /**
   * URLs in the outbox above which hosts whose URLs are in it are held; at twice as many all hosts
   * are held. The outbox must not grow without limit while peers do not acknowledge.
   */
  outbox: 50_000,
  /** Unsettled pages at which the visits pause: about 10 MB, and minutes of fetching. */
  unsettled: 20_000,
  /** Fetched pages without copies at which the visits pause: as many as threads. */
  unreplicated: 64,
  /**
   * Places in the filter of repeated URLs, a power of two: 1 MB. Holds the links of a few pages for
   * each thread, and usually all links of a site.
   */
  seenUrls: 2 ** 17,
  /** URLs announced in one KNOWN, and URLs waiting for it: 33 KB a second. */
  knownUrls: 3000,
  /**
   * Other members up to which URLs are announced: a link to another host is found by at most about
   * that many agents (docs/adr/0037).
   */
  knownMembers: 32,
  /** Hosts looked up in one turn by each search after a change of the view: about 10 ms. */
  hostsPerTurn: 1000,
  /** Hosts whose streams to other agents are checked in one turn: about 10 ms. */
  streamHosts: 4000,
  /**
   * Unsettled pages checked in one turn after a change of the view: a few milliseconds, as a page
   * may depend on several hosts.
   */
  triedPages: 500,
  /**
   * Links, seeds or outbox entries in one piece of the backlog: less than a millisecond. Most pages
   * have fewer links.
   */
  pieceUrls: 50,
  /** URLs checked in one turn when a round begins: a few milliseconds. */
  refreshUrls: 500,
  /** Members named in the news of one heartbeat, about 4 KB; more members take turns. */
  news: 32,
  /** Members that are not in the config: each has a link. */
  unconfigured: 256,
  /**
   * Total capacity of the members that are not in the config. A capacity of 1 is `replicas` points
   * on the ring: 200,000 points, and building the ring takes some tenths of a second.
   */
  unconfiguredCapacity: 1024,
  /**
   * How long a host waits for the robots.txt of another host to which its own redirects. The other
   * host is queued for as long, so a shorter wait would not end the crawl sooner; a busy host is
   * abandoned within four hours. The wait counts as one of four attempts: at most a day in all.
   */
  robotsWaitMs: 6 * 3600 * 1000,
};

export type Bounds = Readonly<typeof BOUNDS>;
