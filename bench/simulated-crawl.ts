// One crawl of a cluster on virtual time, and the messages of its agents. It uses real cores with
// real stores, as in the tests of the protocol, so the counts do not depend on the machine or its
// load. The web grows with the cluster, so each agent has the same work.

import type { Envelope } from '../agent/core/protocol/messages.ts';
import { encodeEnvelope } from '../agent/messaging/codec.ts';
import { fetchedPages } from '../test/checkers/coverage.ts';
import { Cluster } from '../test/simulation/cluster.ts';
import type { ClusterOptions } from '../test/simulation/cluster-options.ts';
import { HEARTBEAT_MS } from '../test/simulation/process.ts';
import { Random } from '../test/simulation/random.ts';
import type { Running, Visit } from '../test/simulation/running.ts';
import type { Web } from '../test/simulation/webs.ts';

/** One heartbeat in this many is measured. It is coprime to the numbers of agents. */
const HEARTBEATS_MEASURED = 97;

/** Limit in virtual time. A crawl takes a few seconds. */
const crawlMsMax = 600_000;

export interface SimulatedSize {
  readonly agents: number;
  /** Hosts of each agent. */
  readonly hosts: number;
  /** Pages of each host. */
  readonly pages: number;
  /** Links from each page to pages of any host. */
  readonly links: number;
  /** Number of hosts to which the pages of one host link so; 0, the default: any. */
  readonly partners?: number;
  /** Links from each page to pages of its own host; none by default. */
  readonly nearLinks?: number;
  readonly backups: number;
  readonly seed: number;
}

interface Count {
  readonly messages: number;
  readonly bytes: number;
}

export interface Simulated {
  readonly agents: number;
  readonly pages: number;
  /** Per page, by type, of all agents together. */
  readonly sent: Readonly<Record<string, Count>>;
  /** The same of all types except heartbeats, which depend on time and not on pages. */
  readonly all: Count;
  /** Heartbeats of an agent in a period. */
  readonly heartbeats: Count;
}

/** A crawl as its web and its network saw it. */
export interface SimulatedCrawl {
  readonly web: Web;
  readonly root: string;
  readonly log: readonly Visit[];
  /** Messages by type. */
  readonly counts: ReadonlyMap<string, Count>;
  /** URLs in all messages that carry links to their owners. */
  readonly urlsSent: number;
  readonly ms: number;
  /** Requests of a host that began before the delay after the previous one was over. */
  readonly impolite: number;
}

class CountingCluster extends Cluster {
  readonly counts = new Map<string, { messages: number; bytes: number }>();
  urlsSent = 0;

  override send(agent: Running, to: string, envelope: Envelope, address: string): void {
    const { type } = envelope.message;
    if (envelope.message.type === 'URLS') this.urlsSent += envelope.message.urls.length;
    const count = this.counts.get(type) ?? { messages: 0, bytes: 0 };
    count.messages++;
    // Heartbeats are the most frequent messages, and a sample is enough to know their size.
    const share = type === 'HEARTBEAT' ? HEARTBEATS_MEASURED : 1;
    if (count.messages % share === 1 % share) {
      const encoded = encodeEnvelope(envelope);
      count.bytes += encoded.ok ? encoded.frame.byteLength * share : 0;
    }
    this.counts.set(type, count);
    super.send(agent, to, envelope, address);
  }
}

/**
 * Crawls to the end.
 *
 * @param more - options of the cluster beside its size
 * @param during - acts on the started cluster, such as by faults, and lets time pass
 */
export function crawlSimulated(
  size: SimulatedSize,
  more: Partial<ClusterOptions> = {},
  during: (cluster: Cluster) => void = () => {},
): SimulatedCrawl {
  const { agents, seed, backups } = size;
  const ids = Array.from({ length: agents }, (_, k) => `a${k + 1}`);
  const web = linkedWeb(size);
  const [root = ''] = web.keys();
  const options = { ids, web, seeds: [root], seed, keepSent: false, ...more };
  const cluster = new CountingCluster({ ...options, backups: Math.min(backups, agents - 1) });
  cluster.startAll();
  const startMs = cluster.now;
  during(cluster);
  cluster.runToEnd(crawlMsMax);
  cluster.close();
  const { log, counts, urlsSent } = cluster;
  const impolite = cluster.impolite().length;
  return { web, root, log, counts, urlsSent, ms: cluster.now - startMs, impolite };
}

/** Throws if a page was not fetched exactly once. */
export function simulate(size: SimulatedSize): Simulated {
  const { agents } = size;
  const { web, log, counts, ms } = crawlSimulated(size);
  const fetched = fetchedPages(log);
  const periods = ms / HEARTBEAT_MS;
  const wrong = [...web.keys()].filter((url) => fetched.get(url) !== 1).length;
  if (wrong > 0) throw new Error(`${wrong} of ${web.size} pages were not fetched once`);
  const { HEARTBEAT, ...rest } = Object.fromEntries(counts);
  const perPage = ({ messages, bytes }: Count): Count => ({
    messages: messages / web.size,
    bytes: bytes / web.size,
  });
  const sum = (of: (count: Count) => number) => Object.values(rest).reduce((s, c) => s + of(c), 0);
  return {
    ...{ agents, pages: web.size },
    heartbeats: {
      messages: (HEARTBEAT?.messages ?? 0) / agents / periods,
      bytes: (HEARTBEAT?.bytes ?? 0) / agents / periods,
    },
    sent: Object.fromEntries(Object.entries(rest).map(([type, count]) => [type, perPage(count)])),
    all: perPage({ messages: sum((c) => c.messages), bytes: sum((c) => c.bytes) }),
  };
}

/** Hosts in a binary tree, the pages of each in a chain, and random links to others or its own. */
export function linkedWeb({
  agents,
  pages,
  links,
  partners = 0,
  nearLinks = 0,
  seed,
  ...size
}: SimulatedSize): Map<string, string[]> {
  const random = new Random(seed);
  const hosts = agents * size.hosts;
  const page = (h: number, p: number) => `http://h${h}.test/p${p}`;
  const anyHost = () => random.whole(0, hosts - 1);
  const web = new Map<string, string[]>();
  for (let h = 0; h < hosts; h++) {
    const others = Array.from({ length: partners }, anyHost);
    const other = () => (partners > 0 ? random.pick(others) : anyHost());
    for (let p = 0; p < pages; p++) {
      const named: string[] = [];
      if (p + 1 < pages) named.push(page(h, p + 1));
      for (const next of [2 * h + 1, 2 * h + 2]) {
        if (p === 0 && next < hosts) named.push(page(next, 0));
      }
      for (let x = 0; x < links; x++) {
        named.push(page(other(), random.whole(0, pages - 1)));
      }
      for (let x = 0; x < nearLinks; x++) named.push(page(h, random.whole(0, pages - 1)));
      web.set(page(h, p), named);
    }
  }
  return web;
}
