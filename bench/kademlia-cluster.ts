// A simulated cluster on the Kademlia overlay, with real cores and real stores, through its whole
// life: it grows by joins, or restarts, stays as it is for some heartbeats, crawls, loses a tenth of its
// agents at one moment and ends. Each phase is counted by itself, as the network sees it.

import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BOUNDS } from '../agent/core/protocol/bounds.ts';
import type { AgentId, Envelope } from '../agent/core/protocol/messages.ts';
import { distanceTo, hexOf } from '../agent/kademlia/routing/contact.ts';
import { keyOf } from '../assignment/identifiers.ts';
import type { Kademlia } from '../assignment/kademlia.ts';
import { fetchedPages } from '../test/checkers/coverage.ts';
import { Cluster } from '../test/simulation/cluster.ts';
import type { ClusterOptions } from '../test/simulation/cluster-options.ts';
import { type KademliaPlan, keysOf, listsOf } from '../test/simulation/kademlia-plan.ts';
import { THREADS } from '../test/simulation/process.ts';
import { Random } from '../test/simulation/random.ts';
import type { Running } from '../test/simulation/running.ts';
import { LookupWatch, type SeenLookup } from './kademlia-lookups.ts';
import type { KademliaGiven } from './kademlia-part.ts';
import { type Known, knownTo, Restart } from './kademlia-restart.ts';
import { progress } from './report.ts';
import { linkedWeb, type SimulatedSize } from './simulated-crawl.ts';

const heartbeatMs = 1000;
const suspectAfterMs = 10 * heartbeatMs;
/** Between the starts of two agents. A join takes longer, so some join at the same time. */
const startEveryMs = heartbeatMs / 40;
/** After which the agents of a restarted cluster have joined. */
const restartMs = 2 * heartbeatMs;
/** After the last start, until the counts begin: joins end, and members that are not needed part. */
const settleMs = 2 * suspectAfterMs;
/** Of the phase in which nothing happens. */
const stillPeriods = 5;
const requestMs = 12;
/** In virtual time, from the release of the first page. */
const crawlMsMax = 600_000;
/** Between lines about the progress of a crawl, in virtual time. */
const tellEveryMs = 5000;
/** Agents through which all others find the cluster. */
const contactCount = 3;
/** A crawl of some pages needs no more; the default is a mebibyte for each agent. */
const seenUrls = 2 ** 12;

const sha1 = (text: string) => createHash('sha1').update(text).digest();

export interface Life {
  readonly agents: number;
  /** Of the cluster, in the crawl. */
  readonly pages: number;
  /** `messages` is null if the agents knew each other when they started. */
  readonly joined: { readonly messages: number | null; readonly agents: number };
  /** Members of an agent when nothing happens, in ascending order. */
  readonly members: readonly number[];
  /** Members of an agent and contacts of its routing table, in ascending order. */
  readonly knows: readonly number[];
  /** Messages of one agent in one of its periods. */
  readonly heartbeats: number;
  /** Of one agent in a second when nothing happens, without heartbeats. */
  readonly still: number;
  readonly heapBytes: number;
  readonly fileBytes: number;
  /** Of the cluster for a page, without heartbeats, until the crash. */
  readonly perPage: Readonly<Record<string, number>>;
  readonly lookups: {
    readonly joins: readonly SeenLookup[];
    /** Of hosts, until the crash. */
    readonly crawl: readonly SeenLookup[];
  };
  /** Pages at the crash. */
  readonly half: number;
  /** Look-ups of the crawl whose nearest agent was not the nearest of all. */
  readonly wrong: number;
  /** The nearest identifiers of the hosts of the crawl belong to them. */
  readonly hostsOf: readonly number[];
  readonly crashed: number;
  readonly missing: number;
  readonly again: number;
  /** From the crash to the last page, and from it to the end of the last agent. */
  readonly recoveryMs: number;
  readonly completionMs: number;
}

class WatchedCluster extends Cluster {
  readonly lookups: LookupWatch;
  /** Heartbeats, each of which goes to several agents. */
  beats = 0;
  readonly #lastBeat = new Map<AgentId, number>();
  readonly #restart: Restart | null;
  readonly #counts = new Map<string, number>();

  constructor(options: ClusterOptions, plan: KademliaPlan, restart: Restart | null) {
    super(options);
    this.#restart = restart;
    const keys = keysOf(plan);
    this.lookups = new LookupWatch((key, id) => distanceTo(BigInt(`0x${key}`), keys(id)));
  }

  override send(agent: Running, to: AgentId, envelope: Envelope, address: string): void {
    const { message } = envelope;
    this.#counts.set(message.type, (this.#counts.get(message.type) ?? 0) + 1);
    if (message.type === 'HEARTBEAT' && this.#lastBeat.get(agent.id) !== message.counter) {
      this.#lastBeat.set(agent.id, message.counter);
      this.beats++;
    }
    this.lookups.sent(agent.id, to, message);
    const seen = this.#restart ? this.#restart.seen(envelope) : envelope;
    if (seen) super.send(agent, to, seen, address);
  }

  /** Messages by type since the last call. */
  takeCounts(): Map<string, number> {
    const taken = new Map(this.#counts);
    this.#counts.clear();
    return taken;
  }
}

export function live(given: KademliaGiven, agents: number): Life {
  const { ids, neighbourhood, bucket: bucketSize, backups, seed } = given;
  const { hosts, pages, partners } = given;
  const size = { agents, hosts, pages, partners, links: 2, backups, seed };
  const names = Array.from({ length: agents }, (_, k) => `a${k + 1}`);
  const contacts = names.slice(0, contactCount);
  const plan = { contacts, ids, neighbourhood, bucketSize };
  const heapBefore = heapBytes();
  const known = agents > given.grown ? knownTo({ ...plan, agents }, new Random(seed)) : null;
  const { cluster, web, releaseAt } = build(size, names, plan, known);
  cluster.run(releaseAt - settleMs - cluster.now);
  // The counts of the joins end here, and some joins do not.
  const joins = sum(cluster.takeCounts(), ['HEARTBEAT']);
  cluster.run(settleMs - stillPeriods * heartbeatMs);
  const joined = joinedOf(cluster);
  const lookups = { joins: cluster.lookups.take(), crawl: [] as SeenLookup[] };
  cluster.takeCounts();
  cluster.beats = 0;
  cluster.run(stillPeriods * heartbeatMs - 1);
  const still = cluster.takeCounts();
  // Not by time: many agents may send theirs at the moment at which the count ends.
  const heartbeats = (still.get('HEARTBEAT') ?? 0) / cluster.beats;
  const members = names.map((id) => cluster.snapshot(id).members.length).toSorted((a, b) => a - b);
  const knows = names.map((id) => knownBy(cluster, id)).toSorted((a, b) => a - b);
  const state = { heapBytes: (heapBytes() - heapBefore) / agents, fileBytes: fileBytes(cluster) };
  const beats = heartbeats.toFixed(1);
  progress(`${agents} agents: ${joined} joined, ${beats} heartbeats of one in a period`);
  progress(`${mean(members).toFixed(1)} members of one, at most ${members.at(-1)}`);
  const ended = crawl(cluster, web, given, plan);
  cluster.close();
  lookups.crawl = ended.lookups;
  return {
    ...{ agents, members, knows, lookups, ...state },
    pages: web.size,
    joined: { messages: known ? null : joins / agents, agents: joined },
    heartbeats,
    still: sum(still, ['HEARTBEAT']) / agents / stillPeriods,
    ...ended.figures,
  };
}

function build(
  size: SimulatedSize,
  names: readonly AgentId[],
  plan: KademliaPlan,
  known: Known | null,
) {
  const web = linkedWeb(size);
  const [root = ''] = web.keys();
  let releaseAt = Infinity;
  const membersOf = (id: AgentId) =>
    [id, ...known!.members.get(id)!].map((one) => ({ id: one, address: cluster.places.of(one) }));
  const options = {
    ...{ ids: names, web, seeds: [root], seed: size.seed, kademlia: plan },
    ...{ keepSent: false, framed: false },
    backups: size.backups,
    settings: (id: AgentId) => ({
      ...{ heartbeatMs, suspectAfterMs, leaseMs: 0.6 * suspectAfterMs },
      ...(known && { configured: membersOf(id) }),
      bounds: { ...BOUNDS, unreplicated: THREADS, seenUrls },
    }),
    // The first answer comes when the cluster has settled.
    requestMs: () => Math.max(requestMs, releaseAt - cluster.now),
  };
  const restart = known && new Restart(known);
  const cluster: WatchedCluster = new WatchedCluster(options, plan, restart);
  restart?.begin(cluster, heartbeatMs, restartMs);
  releaseAt = settleMs + (restart ? cluster.now + restartMs : grow(cluster, names));
  return { cluster, web, releaseAt };
}

/** Agents join one after another. Returns when the last one starts. */
function grow(cluster: WatchedCluster, names: readonly AgentId[]): number {
  const firstAt = cluster.now + 2 * suspectAfterMs;
  for (const [k, id] of names.entries()) {
    const at = k < contactCount ? cluster.now : firstAt + (k - contactCount) * startEveryMs;
    cluster.at(at, () => cluster.start(id));
  }
  return firstAt + names.length * startEveryMs;
}

/** Crawls the web. At half of the pages a tenth of the agents crash, and do not return. */
function crawl(
  cluster: WatchedCluster,
  web: ReadonlyMap<string, readonly string[]>,
  { backups, seed }: KademliaGiven,
  plan: KademliaPlan,
) {
  const pagesDone = () => fetchedPages(cluster.log).size;
  let [seen, done] = [0, 0];
  const isHalf = () => {
    if (cluster.log.length - seen < web.size / 50) return false;
    seen = cluster.log.length;
    done = pagesDone();
    return done >= web.size / 2;
  };
  cluster.runUntil('half of the pages', isHalf, crawlMsMax);
  const counts = cluster.takeCounts();
  const all = listsOf(membersOf(cluster), plan);
  const hosts = [...new Set([...web.keys()].map((url) => new URL(url).host))];
  const keys = new Set(hosts.map((host) => hexOf(keyOf(host, sha1))));
  const lookups = cluster.lookups.take().filter((one) => one.isAnswered && keys.has(one.key));
  const wrong = lookups.filter((one) => isWrong(one, cluster, plan)).length;
  const hostsOf = sharesOf(all, hosts, cluster);
  const victims = victimsOf(cluster, all, hosts, backups, seed);
  for (const id of victims) cluster.kill(id);
  const crashAt = cluster.now;
  const sent = (sum(counts, ['HEARTBEAT']) / done).toFixed(1);
  progress(`${victims.length} of ${cluster.agents.size} agents crash at ${done} pages`);
  const requests = mean(lookups.map((one) => one.requests)).toFixed(2);
  progress(`${sent} messages a page; ${lookups.length} look-ups of ${requests} requests`);
  const tell = teller(cluster, pagesDone);
  const isOver = () => {
    tell();
    return cluster.living().length === 0;
  };
  cluster.runUntil('all ended', isOver, crawlMsMax);
  const fetched = fetchedPages(cluster.log);
  const lastAt = Math.max(...cluster.log.map(({ end }) => end));
  const perPage = [...counts].map(([type, messages]) => [type, messages / done] as const);
  progress(`all pages ${(lastAt - crashAt) / 1000} s later, end ${cluster.now - lastAt} ms later`);
  return {
    lookups,
    figures: {
      ...{ wrong, hostsOf, half: done, crashed: victims.length },
      perPage: Object.fromEntries(perPage.filter(([type]) => type !== 'HEARTBEAT')),
      missing: [...web.keys()].filter((url) => !fetched.has(url)).length,
      again: [...fetched.values()].filter((times) => times > 1).length,
      recoveryMs: lastAt - crashAt,
      completionMs: cluster.now - lastAt,
    },
  };
}

/** Prints the progress of a crawl, which may take an hour. */
function teller(cluster: WatchedCluster, pagesDone: () => number): () => void {
  const from = cluster.now;
  let next = from;
  return () => {
    if (cluster.now < next) return;
    next += tellEveryMs;
    const second = ((cluster.now - from) / 1000).toFixed(0);
    progress(`second ${second}: ${pagesDone()} pages, ${cluster.living().length} agents`);
  };
}

function membersOf(cluster: WatchedCluster) {
  return cluster.living().map(({ id }) => ({ id, capacity: 1 }));
}

function knownBy(cluster: WatchedCluster, id: AgentId): number {
  const { whereabouts } = cluster.agents.get(id)!.core;
  return whereabouts.members().length + whereabouts.contacts().length;
}

function mean(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0) / values.length;
}

function joinedOf(cluster: WatchedCluster): number {
  return cluster.living().filter(({ id }) => cluster.snapshot(id).joined).length;
}

/** Agents do not ask themselves, so the asking agent may be nearer. */
function isWrong({ from, key, nearest }: SeenLookup, cluster: WatchedCluster, plan: KademliaPlan) {
  const keys = keysOf(plan);
  const of = (id: AgentId) => distanceTo(BigInt(`0x${key}`), keys(id));
  const found = of(nearest);
  return cluster.living().some(({ id }) => id !== from && of(id) < found);
}

function sharesOf(all: Kademlia, hosts: readonly string[], cluster: WatchedCluster): number[] {
  const counts = new Map(cluster.living().map(({ id }) => [id, 0]));
  for (const host of hosts) {
    const owner = all.owner(host) ?? '';
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return [...counts.values()];
}

/** A tenth of the agents, at random, but never all that have the rows of one host. */
function victimsOf(
  cluster: WatchedCluster,
  all: Kademlia,
  hosts: readonly string[],
  backups: number,
  seed: number,
): AgentId[] {
  const holders = new Map<AgentId, (readonly AgentId[])[]>();
  for (const host of hosts) {
    const order = all.order(host, backups + 1);
    for (const id of order) holders.set(id, [...(holders.get(id) ?? []), order]);
  }
  const random = new Random(seed + 7);
  const rest = cluster.living().map(({ id }) => id);
  const count = Math.round(rest.length / 10);
  const victims = new Set<AgentId>();
  while (victims.size < count && rest.length > 0) {
    const [id = ''] = rest.splice(random.whole(0, rest.length - 1), 1);
    const leaves = (order: readonly AgentId[]) =>
      order.some((other) => other !== id && !victims.has(other));
    if ((holders.get(id) ?? []).every(leaves)) victims.add(id);
  }
  return [...victims];
}

function sum(counts: ReadonlyMap<string, number>, without: readonly string[]): number {
  let all = 0;
  for (const [type, count] of counts) if (!without.includes(type)) all += count;
  return all;
}

/** Of one agent's database, in memory here as otherwise in its file. */
function fileBytes(cluster: WatchedCluster): number {
  const sizes = [...cluster.disks.values()].map(({ db }) => db.serialize().byteLength);
  return sizes.reduce((all, one) => all + one, 0) / sizes.length;
}

/** After a collection, so that only what is in use counts. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}
