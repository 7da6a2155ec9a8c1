// A cluster of real cores and real stores (in memory) on virtual time, for the tests of the
// protocol: messages take some milliseconds, requests to the web longer, and the web notes who
// asked when. Faults are methods, bad luck of the network comes from a seed; every run is the same
// for the same calls. Turns happen when something came in or the core's deadline is due.

import { createHash } from 'node:crypto';
import { Core } from '../../agent/core/core.ts';
import { type Effect, Effects, type PageRequest } from '../../agent/core/effects.ts';
import type { AgentId, Envelope, Message } from '../../agent/core/messages.ts';
import type { Outcome } from '../../agent/core/outcome.ts';
import type { CoreSettings } from '../../agent/core/settings.ts';
import { admission } from '../../agent/frontier/admission.ts';
import { MinHeap } from '../../agent/frontier/min-heap.ts';
import { Visits } from '../../agent/frontier/visits.ts';
import { openInMemory } from '../../agent/storage/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { splitIdentity } from '../../agent/url/url-key.ts';
import { findCollision } from '../../assignment/collision.ts';
import { Ring } from '../../assignment/ring.ts';
import { RingPoints } from '../../assignment/ring-points.ts';
import { Random } from './random.ts';

export const HEARTBEAT_MS = 100;
export const SUSPECT_MS = 1000;
export const LEASE_MS = 0.6 * SUSPECT_MS;
export const DELAY_MS = 20;

const sha256 = (text: string) => createHash('sha256').update(text).digest();
const points = new RingPoints({ replicas: 50, sha256 });
export const EPOCH = 1_700_000_000_000;
const MESSAGE_MS = 4;
const REQUEST_MS = 12;
/** Turns of one agent do not come closer: the time that a turn takes. */
const TURN_MS = 1;

export interface Visit {
  readonly host: string;
  readonly url: string;
  readonly by: AgentId;
  readonly start: number;
  /** When the web had answered, or saw the connection closed. */
  end: number;
  whole: boolean;
}

interface OpenRequest {
  readonly request: PageRequest;
  visit: Visit | null;
  closed: boolean;
}

export interface Running {
  readonly id: AgentId;
  readonly store: SqliteStore;
  readonly effects: Effects;
  readonly core: Core;
  inputs: (() => void)[];
  stalledUntil: number;
  alive: boolean;
  /** `members`: who was in its view, itself included. */
  end: { code: number; reason: string; members: readonly AgentId[] } | null;
  readonly open: Map<number, OpenRequest>;
  /** When its next turn is due; earlier entries of the event heap are void. */
  turnAt: number;
  lastTurn: number;
}

/** What the network does to messages, by shares of them. */
export interface Network {
  loss: number;
  readonly duplicate: number;
  /** Late by up to `slowMs`: overtaken by what was sent later. */
  readonly slow: number;
  readonly slowMs: number;
}

const CALM: Network = { loss: 0, duplicate: 0, slow: 0, slowMs: 0 };

export interface ClusterOptions {
  readonly ids: readonly AgentId[];
  /** Links of each page; a page is a URL such as `http://h1.test/p1`. */
  readonly web: ReadonlyMap<string, readonly string[]>;
  readonly seeds: readonly string[];
  readonly backups?: number;
  readonly quorum?: 'none' | 'majority';
  readonly settings?: (id: AgentId) => Partial<CoreSettings>;
  readonly seed?: number;
  readonly network?: Network;
  readonly delayMs?: number;
  /** How fast each agent's clocks run. */
  readonly rate?: (id: AgentId) => number;
  /** How long the web takes for a request. */
  readonly requestMs?: (random: Random) => number;
  /** Whether to keep what was sent, for tests that look at messages. */
  readonly keepSent?: boolean;
}

export class Cluster {
  now = EPOCH;
  readonly log: Visit[] = [];
  readonly sent: { from: AgentId; to: AgentId; message: Message; at: number }[] = [];
  readonly agents = new Map<AgentId, Running>();
  readonly network: Network;
  readonly random: Random;
  readonly delayMs: number;
  /** Links of each page. */
  readonly web: ReadonlyMap<string, readonly string[]>;
  /** Drops a message if it says so. */
  lose: (from: AgentId, to: AgentId, message: Message) => boolean = () => false;
  readonly #o: ClusterOptions;
  readonly #events = new MinHeap<(() => void)[]>();
  /** What happens at one moment, in the order it was planned. */
  readonly #moments = new Map<number, (() => void)[]>();
  readonly #cuts = new Set<string>();
  readonly #wallSkew = new Map<AgentId, number>();

  constructor(options: ClusterOptions) {
    this.#o = options;
    this.web = options.web;
    this.random = new Random(options.seed ?? 1);
    this.network = { ...(options.network ?? CALM) };
    this.delayMs = options.delayMs ?? DELAY_MS;
  }

  /** The clocks of an agent now. */
  instant(id: AgentId) {
    const mono = EPOCH + (this.now - EPOCH) * this.#rate(id);
    return { mono, wall: mono + (this.#wallSkew.get(id) ?? 0) };
  }

  #rate(id: AgentId): number {
    return this.#o.rate?.(id) ?? 1;
  }

  start(id: AgentId, store?: SqliteStore): void {
    const hostDelayMs = this.delayMs;
    const kept = store ?? new SqliteStore(openInMemory(), { durability: 'process', hostDelayMs });
    const effects = new Effects();
    const core = new Core({
      settings: this.#settings(id),
      store: kept,
      effects,
      hostOf: (url) => splitIdentity(url)?.host ?? null,
      admit: admission({ depthPerHost: 1000, urlLength: 2048 }),
      seeds: this.#o.seeds.map((url) => ({ url, depth: 0 })),
      visits: (right) =>
        new Visits({
          store: kept,
          effects,
          right,
          threads: 4,
          hostDelayMs,
          heartbeatMs: HEARTBEAT_MS,
          pagesPerHost: 10_000,
          robots: true,
          parseRobots: () => ({ allows: (url) => ({ allowed: !url.endsWith(FORBIDDEN) }) }),
        }),
    });
    const agent: Running = {
      id,
      store: kept,
      effects,
      core,
      inputs: [],
      stalledUntil: 0,
      alive: true,
      end: null,
      open: new Map(),
      turnAt: Infinity,
      lastTurn: 0,
    };
    this.agents.set(id, agent);
    this.#input(agent, () => core.start(this.instant(id)));
  }

  startAll(): void {
    for (const id of this.#o.ids) this.start(id);
  }

  #settings(id: AgentId): CoreSettings {
    return {
      id,
      capacity: 1,
      address: `sim://${id}`,
      configured: this.#o.ids.map((name) => ({ id: name, address: `sim://${name}` })),
      backups: this.#o.backups ?? 1,
      quorum: this.#o.quorum ?? 'none',
      heartbeatMs: HEARTBEAT_MS,
      suspectAfterMs: SUSPECT_MS,
      leaseMs: LEASE_MS,
      hostDelayMs: this.delayMs,
      fingerprint: 'same',
      fingerprintHash: 'same',
      compare: (a, b) => (a === b ? null : { path: 'fingerprint', a, b }),
      build: (members) => new Ring(members, points),
      collision: (members) => findCollision(members, points),
      digest: (text) => text,
      ...this.#o.settings?.(id),
    };
  }

  // ---- faults

  kill(id: AgentId): SqliteStore {
    const agent = this.agents.get(id)!;
    agent.alive = false;
    for (const { visit } of agent.open.values()) this.#cutShort(visit);
    return agent.store;
  }

  /**
   * The process is stopped. A request that is open then is left out of account from here on: its
   * answer may arrive while nobody can close the connection (PROTOCOL-CASES A5 b).
   */
  stall(id: AgentId, ms: number): void {
    const agent = this.agents.get(id)!;
    agent.stalledUntil = Math.max(agent.stalledUntil, this.now + ms);
    for (const { visit } of agent.open.values()) this.#cutShort(visit);
  }

  cut(from: AgentId, to: AgentId): void {
    this.#cuts.add(`${from}>${to}`);
  }

  mend(from: AgentId, to: AgentId): void {
    this.#cuts.delete(`${from}>${to}`);
  }

  heal(): void {
    this.#cuts.clear();
  }

  /** The wall clock of an agent is set, forwards or back. */
  jump(id: AgentId, ms: number): void {
    this.#wallSkew.set(id, (this.#wallSkew.get(id) ?? 0) + ms);
  }

  // ---- time

  /** Something that happens at a moment of true time. */
  at(time: number, act: () => void): void {
    const moment = Math.max(time, this.now);
    const acts = this.#moments.get(moment);
    if (acts) {
      acts.push(act);
      return;
    }
    const planned = [act];
    this.#moments.set(moment, planned);
    this.#events.push(moment, planned);
  }

  run(ms: number): void {
    const until = this.now + ms;
    while (this.#events.firstKey <= until) this.#step();
    this.now = until;
  }

  /** Runs until the claim holds; fails after `ms` of virtual time. */
  runUntil(what: string, holds: () => boolean, ms = 60_000): void {
    const until = this.now + ms;
    while (!holds()) {
      if (this.#events.firstKey > until) {
        throw new Error(`never came true: ${what}\n${this.describe()}`);
      }
      this.#step();
    }
  }

  runToEnd(ms = 60_000): void {
    this.runUntil('all ended', () => this.living().length === 0, ms);
  }

  living(): Running[] {
    return [...this.agents.values()].filter((a) => a.alive && a.end === null);
  }

  snapshot(id: AgentId) {
    return this.agents.get(id)!.core.snapshot(this.instant(id));
  }

  describe(): string {
    return this.living()
      .map((a) => JSON.stringify(this.snapshot(a.id)))
      .join('\n');
  }

  #step(): void {
    this.now = this.#events.firstKey;
    const acts = this.#events.pop() ?? [];
    for (let i = 0; i < acts.length; i++) acts[i]!();
    this.#moments.delete(this.now);
  }

  /** An input of the agent, handled in a turn of its own loop. */
  #input(agent: Running, input: () => void): void {
    agent.inputs.push(input);
    this.#turnAt(agent, Math.max(this.now, agent.lastTurn + TURN_MS));
  }

  #turnAt(agent: Running, at: number): void {
    if (at >= agent.turnAt) return;
    agent.turnAt = at;
    this.at(at, () => {
      if (agent.turnAt === at) this.#turn(agent);
    });
  }

  #turn(agent: Running): void {
    agent.turnAt = Infinity;
    if (!agent.alive || agent.end) return;
    if (agent.stalledUntil > this.now) return this.#turnAt(agent, agent.stalledUntil);
    agent.lastTurn = this.now;
    agent.store.begin();
    const inputs = agent.inputs;
    agent.inputs = [];
    for (const input of inputs) input();
    agent.core.onDeadline(this.instant(agent.id));
    agent.store.commit(false);
    agent.core.committed();
    for (const effect of agent.effects.take()) this.#perform(agent, effect);
    const due = agent.core.nextDeadlineMs(this.instant(agent.id));
    const inTrueTime = EPOCH + (due - EPOCH) / this.#rate(agent.id);
    this.#turnAt(agent, Math.max(this.now + TURN_MS, inTrueTime));
  }

  #perform(agent: Running, effect: Effect): void {
    switch (effect.type) {
      case 'send':
        return this.#send(agent, effect.to.id, effect.envelope);
      case 'request':
        return this.#request(agent, effect.request);
      case 'abort': {
        const open = agent.open.get(effect.request);
        if (open) this.#close(agent, open);
        return;
      }
      case 'end':
        agent.end = { ...effect, members: [agent.id, ...this.#viewOf(agent)] };
        return;
      default:
    }
  }

  #viewOf(agent: Running): AgentId[] {
    return agent.core.snapshot(this.instant(agent.id)).members.map((m) => m.id);
  }

  #send(agent: Running, to: AgentId, envelope: Envelope): void {
    const { message } = envelope;
    const { network, random, now } = this;
    if (this.#o.keepSent ?? true) this.sent.push({ from: agent.id, to, message, at: now });
    if (this.#cuts.has(`${agent.id}>${to}`) || this.lose(agent.id, to, message)) return;
    if (random.chance(network.loss)) return;
    const text = JSON.stringify(envelope);
    for (let copies = random.chance(network.duplicate) ? 2 : 1; copies > 0; copies--) {
      const late = random.chance(network.slow) ? random.between(0, network.slowMs) : 0;
      this.at(now + MESSAGE_MS + late, () => this.deliver(to, JSON.parse(text) as Envelope));
    }
  }

  /** A message arrives at an agent, from whomever. */
  deliver(to: AgentId, envelope: Envelope): void {
    const agent = this.agents.get(to);
    if (!agent?.alive || agent.end) return;
    this.#input(agent, () => agent.core.onMessage(envelope, this.instant(to)));
  }

  // ---- the web

  /** Connects, asks for the right once more, and then the web sees the request. */
  #request(agent: Running, request: PageRequest): void {
    const open: OpenRequest = { request, visit: null, closed: false };
    agent.open.set(request.id, open);
    const connectMs = this.#o.requestMs ? this.random.between(0, 15) : 0;
    const write = (): void => {
      if (!agent.alive || open.closed) return;
      if (agent.stalledUntil > this.now) return this.at(agent.stalledUntil + TURN_MS / 2, write);
      if (agent.end || !agent.core.mayWrite(request.host, this.instant(agent.id))) {
        return this.#close(agent, open);
      }
      const { host, url } = request;
      const ms = this.#o.requestMs?.(this.random) ?? REQUEST_MS;
      const end = this.now + ms;
      const visit: Visit = { host, url, by: agent.id, start: this.now, end, whole: false };
      open.visit = visit;
      this.log.push(visit);
      this.at(end, () => {
        if (open.closed || !agent.alive || agent.end) return;
        visit.whole = true;
        this.#answer(agent, open, this.#response(agent, request, ms));
      });
    };
    if (connectMs === 0) write();
    else this.at(this.now + connectMs, write);
  }

  /** The agent closes the connection before the answer is whole. */
  #close(agent: Running, open: OpenRequest): void {
    if (open.closed) return;
    this.#cutShort(open.visit);
    const { request } = open;
    const endedAt = this.instant(agent.id).mono;
    const common = { request, endedAt, durationMs: 0, ip: null };
    const code = 'aborted';
    const outcome = { ...common, kind: 'failure', code, message: code } as const;
    this.#answer(agent, open, { ...outcome, cause: 'withdrawn' });
  }

  #cutShort(visit: Visit | null): void {
    if (!visit || visit.end <= this.now) return;
    visit.end = this.now;
  }

  #answer(agent: Running, open: OpenRequest, outcome: Outcome): void {
    open.closed = true;
    agent.open.delete(open.request.id);
    if (!agent.alive) return;
    this.#input(agent, () => agent.core.onPage(outcome, this.instant(agent.id)));
  }

  #response(agent: Running, request: PageRequest, durationMs: number): Outcome {
    const common = { request, endedAt: this.instant(agent.id).mono, durationMs, ip: null };
    if (request.kind === 'robots') {
      return { ...common, kind: 'robots', answer: { kind: 'rules', body: new Uint8Array(1) } };
    }
    // The last pages name one that robots.txt forbids: it is skipped, the host's last deed. And
    // every page names the root, which is known: that costs its owner an acknowledgement.
    const forbidden = `http://${request.host}/${FORBIDDEN}`;
    const named = this.#o.web.get(request.url) ?? [];
    const root = this.#o.seeds.slice(0, 1);
    const links = [...(named.length > 0 ? named : [forbidden]), ...root].map((url) => {
      return { url, host: splitIdentity(url)!.host };
    });
    return {
      ...common,
      kind: 'response',
      status: 200,
      retryAfterMs: null,
      contentType: 'text/html',
      bytes: 100,
      truncated: false,
      digest: null,
      redirectTo: null,
      note: null,
      links,
      outOfScope: 0,
    };
  }

  // ---- what the web saw

  /** Whole answers by page. */
  fetched(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { url, whole } of this.log) {
      if (whole && !url.endsWith('/robots.txt')) counts.set(url, (counts.get(url) ?? 0) + 1);
    }
    return counts;
  }

  /** Pairs of requests to one host that overlap, or follow closer than the delay. */
  impolite(toleranceMs = 0): string[] {
    const found: string[] = [];
    const last = new Map<string, Visit>();
    for (const visit of [...this.log].sort((a, b) => a.start - b.start)) {
      const before = last.get(visit.host);
      if (before && visit.start - before.end < this.delayMs - toleranceMs) {
        const gap = Math.round(visit.start - before.end);
        const at = Math.round(visit.start - EPOCH);
        found.push(
          `${visit.url} by ${visit.by}, ${gap} ms after ${before.url} by ${before.by}, at ${at}`,
        );
      }
      if (!before || visit.end > before.end) last.set(visit.host, visit);
    }
    return found;
  }
}

/** End of the URLs that the web's robots.txt forbids. */
const FORBIDDEN = 'forbidden';

/** Hosts h0…, each a chain of pages with a branch to the next host: one way in for each page. */
export function chainWeb(hosts: number, pages: number): Map<string, string[]> {
  const web = new Map<string, string[]>();
  const page = (h: number, p: number) => `http://h${h}.test/p${p}`;
  for (let h = 0; h < hosts; h++) {
    for (let p = 0; p < pages; p++) {
      const links: string[] = [];
      if (p + 1 < pages) links.push(page(h, p + 1));
      for (const next of [2 * h + 1, 2 * h + 2]) {
        if (next < hosts && p === next % pages) links.push(page(next, 0));
      }
      web.set(page(h, p), links);
    }
  }
  return web;
}
