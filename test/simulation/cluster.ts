// A cluster of real cores and real stores (in memory) on virtual time, for the tests of the
// protocol. Messages take some milliseconds and web requests take longer; the web logs the agent
// and the time of each request. Faults are methods, and random faults of the network come from a
// seed, so the same calls give the same run. An agent takes a turn when it has an input or when the
// core's deadline is due.

import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';
import { BOUNDS } from '../../agent/core/protocol/bounds.ts';
import type { Effect, PageRequest } from '../../agent/core/protocol/effects.ts';
import type { AgentId, Envelope, Message } from '../../agent/core/protocol/messages.ts';
import type { Outcome } from '../../agent/core/protocol/outcome.ts';
import type { CoreSettings } from '../../agent/core/protocol/settings.ts';
import { MinHeap } from '../../agent/frontier/schedule/min-heap.ts';
import { decodeFrame, encodeEnvelope } from '../../agent/messaging/codec.ts';
import type { UrlScope } from '../../agent/url/request-scope.ts';
import { findCollision } from '../../assignment/collision.ts';
import { Ring } from '../../assignment/ring.ts';
import { RingPoints } from '../../assignment/ring-points.ts';
import { fetchedPages } from '../checkers/coverage.ts';
import { impolite } from '../checkers/politeness.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { listsOf } from './kademlia-plan.ts';
import { CALM, Network } from './network.ts';
import { EVEN_PAGES, type OddPages } from './odd-pages.ts';
import { Places } from './places.ts';
import { HEARTBEAT_MS, newDisk, processOf, THREADS } from './process.ts';
import { Random } from './random.ts';
import type { RobotsLeads } from './robots-web.ts';
import { type Disk, justStarted, type OpenRequest, type Running, type Visit } from './running.ts';
import { answerTo, type Web } from './webs.ts';
import { SLICE_UNITS, TURN_UNITS_MAX, Work } from './work.ts';

export const SUSPECT_MS = 1000;
export const LEASE_MS = 0.6 * SUSPECT_MS;
export const DELAY_MS = 20;

const sha256 = (text: string) => createHash('sha256').update(text).digest();
const points = new RingPoints({ replicas: 50, sha256 });
export const EPOCH = 1_700_000_000_000;
const REQUEST_MS = 12;
/** Minimum time between two turns of an agent: the duration of a turn. */
const TURN_MS = 1;

export class Cluster {
  now = EPOCH;
  readonly log: Visit[] = [];
  readonly sent: { from: AgentId; to: AgentId; message: Message; at: number }[] = [];
  readonly agents = new Map<AgentId, Running>();
  readonly network: Network;
  readonly places: Places;
  readonly random: Random;
  readonly delayMs: number;
  readonly ipDelayMs: number;
  readonly backups: number;
  readonly isPartial: boolean;
  /** Links of each page. */
  readonly web: Web;
  readonly leads: RobotsLeads;
  readonly oddPages: OddPages;
  /** By agent, whether it is running or not. */
  readonly disks = new Map<AgentId, Disk>();
  /** Duration of a durable commit, for agents with slow disks. */
  readonly slowDisks = new Map<AgentId, number>();
  /** Messages that a real agent would have dropped as malformed. */
  readonly refused: string[] = [];
  /** Turns that would delay the heartbeats of a real agent. */
  readonly heavy: string[] = [];
  /** Called after each turn, when its effects have been performed. */
  readonly watchers: ((agent: Running, effects: readonly Effect[]) => void)[] = [];
  /** When a disk was last wiped or set back. */
  readonly lostAt = new Map<AgentId, number>();
  /** The scope in the config of agents that start from now on. */
  scope: UrlScope = { covers: () => true, admits: () => true };
  /** Drops the message if it returns true. */
  lose: (from: AgentId, to: AgentId, message: Message) => boolean = () => false;
  /** Called for messages to an address that no agent has. */
  astray: (address: string, envelope: Envelope) => void = () => {};
  readonly #o: ClusterOptions;
  /** Requests for the robots.txt of each host. */
  readonly #robotsAsked = new Map<string, number>();
  readonly #events = new MinHeap<(() => void)[]>();
  /** Events of one moment, in the order in which they were planned. */
  readonly #moments = new Map<number, (() => void)[]>();
  readonly #wallSkew = new Map<AgentId, number>();

  constructor(options: ClusterOptions) {
    this.#o = options;
    this.places = new Places(options.kademlia ? 'tcp' : 'ipc');
    this.web = options.web;
    this.leads = options.leads ?? new Map();
    this.oddPages = options.oddPages ?? EVEN_PAGES;
    this.random = new Random(options.seed ?? 1);
    this.network = new Network(options.weather ?? CALM, this.random);
    this.delayMs = options.delayMs ?? DELAY_MS;
    this.ipDelayMs = options.ipDelayMs ?? 0;
    this.backups = options.backups ?? 1;
    this.isPartial = options.kademlia !== undefined;
  }

  /** Among the given agents, the preference list of a host, owner first. */
  order(host: string, ids: readonly AgentId[]): readonly AgentId[] {
    const isUp = (id: AgentId) => this.agents.get(id)?.alive;
    const of = (id: AgentId) => (isUp(id) ? this.snapshot(id) : this.#settings(id));
    const members = ids.map((id) => ({ id, capacity: of(id).capacity }));
    const { kademlia } = this.#o;
    return (kademlia ? listsOf(members, kademlia) : new Ring(members, points)).order(host);
  }

  /** The current time of an agent's clocks. */
  instant(id: AgentId) {
    const mono = EPOCH + (this.now - EPOCH) * this.#rate(id);
    return { mono, wall: mono + (this.#wallSkew.get(id) ?? 0) };
  }

  #rate(id: AgentId): number {
    return this.#o.rate?.(id) ?? 1;
  }

  /** Starts a process on the agent's disk, or on a new one if it has none. `completedBy`: rule 14. */
  start(id: AgentId, completedBy?: readonly AgentId[]): void {
    const disk = this.disks.get(id) ?? newDisk();
    this.disks.set(id, disk);
    const parts = processOf(disk, this.#settings(id, completedBy), {
      hostDelayMs: this.delayMs,
      seeds: completedBy ? [] : this.#o.seeds.map((url) => ({ url, depth: 0 })),
      sliceUnits: this.#o.sliceUnits ?? SLICE_UNITS,
      ...{ scope: this.scope, kademlia: this.#o.kademlia ?? null, places: this.places },
    });
    const agent = justStarted(id, parts);
    this.agents.set(id, agent);
    this.#input(agent, () => agent.core.start(this.instant(id)));
  }

  startAll(): void {
    for (const id of this.#o.ids) this.start(id);
  }

  #settings(id: AgentId, completedBy: readonly AgentId[] = []): CoreSettings {
    const known = this.#o.kademlia ? [...new Set([id, ...this.#o.kademlia.contacts])] : this.#o.ids;
    return {
      ...{ id, completedBy },
      capacity: 1,
      address: this.places.of(id),
      configured: known.map((name) => {
        return { id: name, address: name === id ? this.places.of(id) : this.places.inConfig(name) };
      }),
      backups: this.backups,
      quorum: this.#o.quorum ?? 'none',
      heartbeatMs: HEARTBEAT_MS,
      suspectAfterMs: SUSPECT_MS,
      leaseMs: LEASE_MS,
      bounds: { ...BOUNDS, unreplicated: THREADS },
      // As if each process had drawn it.
      seenKey: sha256(`${id} ${this.now}`).readUIntBE(0, 6),
      proofKey: `of ${id} ${this.now}`,
      delayMs: () => this.delayMs,
      ipDelayMs: this.ipDelayMs,
      pagesMax: this.#o.pagesMax ?? null,
      fingerprint: 'same',
      fingerprintHash: 'same',
      compare: (a, b) => (a === b ? null : { path: 'fingerprint', a, b }),
      build: (members) => new Ring(members, points),
      collision: (members) => (this.#o.kademlia ? null : findCollision(members, points)),
      digest: (text) => sha256(text).toString('base64url', 0, 16),
      ...this.#o.settings?.(id),
    };
  }

  // ---- faults

  /** The process ends at once. Its disk remains. */
  kill(id: AgentId): void {
    const agent = this.agents.get(id)!;
    agent.alive = false;
    for (const { visit } of agent.open.values()) this.#cutShort(visit);
  }

  /** Deletes the disk. A later start of the agent gets a new one. */
  wipe(id: AgentId): void {
    this.lostAt.set(id, this.now);
    this.disks.delete(id);
  }

  /** From now on each durable commit takes an image of the disk. */
  watch(id: AgentId): void {
    const disk = this.disks.get(id)!;
    disk.watched = true;
    disk.image = disk.db.serialize();
  }

  /** The process ends, and its disk returns to the last image. */
  setBack(id: AgentId): void {
    const disk = this.disks.get(id)!;
    this.lostAt.set(id, this.now);
    if (this.agents.get(id)?.alive) this.kill(id);
    if (disk.image)
      this.disks.set(id, { db: new Database(disk.image), image: null, watched: false });
  }

  /**
   * Stops the process for a time. A request that is open then is no longer counted from here on,
   * because its answer may arrive while no agent can close the connection.
   */
  stall(id: AgentId, ms: number): void {
    const agent = this.agents.get(id)!;
    agent.stalledUntil = Math.max(agent.stalledUntil, this.now + ms);
    agent.readsLater = true;
    for (const { visit } of agent.open.values()) this.#cutShort(visit);
  }

  /** Sets the wall clock of an agent forwards or back. */
  jump(id: AgentId, ms: number): void {
    this.#wallSkew.set(id, (this.#wallSkew.get(id) ?? 0) + ms);
  }

  // ---- time

  /** Plans an event for a moment of true time. */
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

  /** Frees the memory of all disks. */
  close(): void {
    for (const { db } of this.disks.values()) db.close();
  }

  /** Runs until the condition holds; fails after `ms` of virtual time. */
  runUntil(what: string, holds: () => boolean, ms = 60_000): void {
    const until = this.now + ms;
    while (!holds()) {
      if (this.#events.firstKey > until) {
        throw new Error(`condition never held: ${what}\n${this.describe()}`);
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

  /** Passes an input to the agent, which handles it in a turn of its own event loop. */
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
    const before = agent.work.units;
    const reads = !agent.readsLater;
    agent.readsLater = false;
    while (reads && agent.inputs.length > 0 && agent.work.units - before < SLICE_UNITS) {
      agent.inputs.shift()!();
    }
    agent.core.onDeadline(this.instant(agent.id));
    agent.store.commit(false);
    agent.core.committed();
    const units = agent.work.units - before;
    if (units > TURN_UNITS_MAX) {
      this.heavy.push(`a turn of ${agent.id} took ${Math.round(Work.msOf(units))} ms of work`);
    }
    const effects = agent.effects.take();
    const durable = effects.some((effect) => 'durable' in effect && effect.durable);
    const disk = this.disks.get(agent.id);
    if (disk?.watched && durable) disk.image = disk.db.serialize();
    const diskMs = durable ? (this.slowDisks.get(agent.id) ?? 0) : 0;
    const tookMs = diskMs + Math.floor(Work.msOf(units));
    if (tookMs === 0) return this.#endTurn(agent, effects);
    // The event loop is blocked while it works and the disk writes. Effects follow after that.
    agent.stalledUntil = Math.max(agent.stalledUntil, this.now + tookMs);
    this.at(this.now + tookMs, () => this.#endTurn(agent, effects));
  }

  #endTurn(agent: Running, effects: readonly Effect[]): void {
    if (!agent.alive) return;
    for (const effect of effects) this.#perform(agent, effect);
    this.afterTurn(agent, effects);
    const due = agent.core.nextDeadlineMs(this.instant(agent.id));
    const dueAt = agent.inputs.length > 0 ? 0 : EPOCH + (due - EPOCH) / this.#rate(agent.id);
    this.#turnAt(agent, Math.max(this.now + TURN_MS, dueAt));
  }

  afterTurn(agent: Running, effects: readonly Effect[]): void {
    for (const watch of this.watchers) watch(agent, effects);
  }

  #perform(agent: Running, effect: Effect): void {
    switch (effect.type) {
      case 'send': {
        const to = this.places.residentOf(effect.to.address);
        if (to !== undefined) this.send(agent, to, effect.envelope, effect.to.address);
        else this.astray(effect.to.address, effect.envelope);
        return;
      }
      case 'request':
        return this.#request(agent, effect.request);
      case 'resolve':
        return this.#resolve(agent, effect.host);
      case 'abort': {
        const open = agent.open.get(effect.request);
        if (open) this.#close(agent, open);
        return;
      }
      case 'tell':
        return effect.tell();
      case 'end':
        agent.end = { ...effect, at: this.now, view: this.knownTo(agent.id) };
        return;
      default:
    }
  }

  /** The agents that an agent knows, itself included; over Kademlia all that run in any view. */
  knownTo(id: AgentId): AgentId[] {
    const viewOf = (one: AgentId) => this.snapshot(one).members.map((member) => member.id);
    if (!this.#o.kademlia) return [id, ...viewOf(id)];
    const living = this.living().map((agent) => agent.id);
    const inView = new Set([id, ...living.flatMap(viewOf)]);
    return living.filter((one) => inView.has(one));
  }

  /** Public because `mutations.ts` removes a rule by changing the messages sent. */
  send(agent: Running, to: AgentId, envelope: Envelope, address: string): void {
    const { message } = envelope;
    if (this.#o.keepSent ?? true) this.sent.push({ from: agent.id, to, message, at: this.now });
    if (this.lose(agent.id, to, message)) return;
    const frame = this.#frameOf(envelope);
    for (const ms of this.network.journeys(agent.id, to, message.type)) {
      this.at(this.now + ms, () => {
        // It was under way to the old address of an agent that has moved.
        if (this.places.residentOf(address) !== to) return;
        const decoded = frame ? decodeFrame(frame) : { ok: true as const, envelope };
        if (decoded.ok) this.deliver(to, decoded.envelope);
        else
          this.refused.push(`${message.type} of ${agent.id} is not understood: ${decoded.detail}`);
      });
    }
  }

  /** Encodes a message as on the wire; most heartbeats are not, because they are too many. */
  #frameOf(envelope: Envelope): Uint8Array | null {
    const { message } = envelope;
    const isPlain = message.type === 'HEARTBEAT' && message.counter % 40 > 0;
    if (isPlain || this.#o.framed === false) return null;
    const encoded = encodeEnvelope(envelope);
    if (encoded.ok) return encoded.frame;
    this.refused.push(`${message.type} of ${encoded.bytes} bytes is too large`);
    return null;
  }

  /** Delivers a message to an agent, from any sender. */
  deliver(to: AgentId, envelope: Envelope): void {
    const agent = this.agents.get(to);
    if (!agent?.alive || agent.end) return;
    this.#input(agent, () => agent.core.onMessage(envelope, this.instant(to)));
  }

  // ---- the web

  addressOf(host: string): string {
    return this.#o.addressOf?.(host) ?? host;
  }

  #resolve(agent: Running, host: string): void {
    this.at(this.now + this.random.between(0, 5), () => {
      const { core } = agent;
      const address = this.addressOf(host);
      if (!agent.alive || agent.end) return;
      const to = { address, dial: address };
      this.#input(agent, () => core.onResolved(host, to, this.instant(agent.id)));
    });
  }

  /** Connects and checks the fetch right once more; then the web receives the request. */
  #request(agent: Running, request: PageRequest): void {
    const open: OpenRequest = { request, visit: null, closed: false };
    agent.open.set(request.id, open);
    const [root] = this.#o.seeds;
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
      const hasTrouble = request.kind === 'robots' && this.#troubleAt(host);
      const busy = this.#o.busy?.(request) ?? null;
      open.visit = visit;
      this.log.push(visit);
      this.at(end, () => {
        if (open.closed || !agent.alive || agent.end) return;
        const odd = busy ? null : this.oddPages.next(request);
        visit.whole = odd === null;
        const endedAt = this.instant(agent.id).mono;
        const { web, leads, oddPages } = this;
        const how = { web, root, hasTrouble, leads, busy, odd, oddPages };
        this.#answer(agent, open, answerTo(request, { ...how, endedAt, durationMs: ms }));
      });
    };
    if (connectMs === 0) write();
    else this.at(this.now + connectMs, write);
  }

  /** Whether the server fails to serve its robots.txt this time. */
  #troubleAt(host: string): boolean {
    const asked = this.#robotsAsked.get(host) ?? 0;
    this.#robotsAsked.set(host, asked + 1);
    return asked < (this.#o.robotsTroubles?.(host) ?? 0);
  }

  /** The agent closes the connection before the response is complete. */
  #close(agent: Running, open: OpenRequest): void {
    if (open.closed) return;
    this.#cutShort(open.visit);
    const { request } = open;
    const endedAt = this.instant(agent.id).mono;
    const common = { request, endedAt, durationMs: 0, ip: null };
    const outcome = { ...common, kind: 'failure', code: 'aborted', message: 'aborted' } as const;
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

  // ---- what the web logged

  /** Number of complete responses by page. */
  fetched(): Map<string, number> {
    return fetchedPages(this.log);
  }

  impolite(toleranceMs = 0): string[] {
    return impolite(this.log, { delayMs: this.delayMs, toleranceMs });
  }
}
