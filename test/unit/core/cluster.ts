// A cluster of real cores and real stores (in memory) on virtual time, for the tests of the
// protocol: messages take some milliseconds, requests to the web longer, and the web notes who
// asked when. Faults are methods; every run is the same for the same calls. The simulator with
// random faults grows from here.

import { createHash } from 'node:crypto';
import { Core } from '../../../agent/core/core.ts';
import { type Effect, Effects, type PageRequest } from '../../../agent/core/effects.ts';
import type { AgentId, Envelope, Message } from '../../../agent/core/messages.ts';
import type { Outcome } from '../../../agent/core/outcome.ts';
import type { CoreSettings } from '../../../agent/core/settings.ts';
import { admission } from '../../../agent/frontier/admission.ts';
import { Visits } from '../../../agent/frontier/visits.ts';
import { openInMemory } from '../../../agent/storage/database.ts';
import { SqliteStore } from '../../../agent/storage/sqlite-store.ts';
import { splitIdentity } from '../../../agent/url/url-key.ts';
import { findCollision } from '../../../assignment/collision.ts';
import { Ring } from '../../../assignment/ring.ts';
import { RingPoints } from '../../../assignment/ring-points.ts';

export const HEARTBEAT_MS = 100;
export const SUSPECT_MS = 1000;
export const DELAY_MS = 20;

const sha256 = (text: string) => createHash('sha256').update(text).digest();
const points = new RingPoints({ replicas: 50, sha256 });
const EPOCH = 1_700_000_000_000;
const STEP_MS = 5;
const MESSAGE_MS = 4;
const REQUEST_MS = 12;

export interface Visit {
  readonly host: string;
  readonly url: string;
  readonly by: AgentId;
  readonly start: number;
  end: number;
}

interface Running {
  readonly id: AgentId;
  readonly store: SqliteStore;
  readonly effects: Effects;
  readonly core: Core;
  inputs: (() => void)[];
  stalledUntil: number;
  alive: boolean;
  end: { code: number; reason: string } | null;
  open: Map<number, Visit>;
}

export interface ClusterOptions {
  readonly ids: readonly AgentId[];
  /** Links of each page; a page is a URL such as `http://h1.test/p1`. */
  readonly web: ReadonlyMap<string, readonly string[]>;
  readonly seeds: readonly string[];
  readonly quorum?: 'none' | 'majority';
  readonly settings?: (id: AgentId) => Partial<CoreSettings>;
}

export class Cluster {
  now = EPOCH;
  readonly log: Visit[] = [];
  readonly sent: { from: AgentId; to: AgentId; message: Message }[] = [];
  readonly agents = new Map<AgentId, Running>();
  readonly #o: ClusterOptions;
  readonly #queue: { at: number; to: AgentId; envelope: Envelope }[] = [];
  readonly #cuts = new Set<string>();
  readonly #wallSkew = new Map<AgentId, number>();

  constructor(options: ClusterOptions) {
    this.#o = options;
  }

  instant(id: AgentId) {
    return { mono: this.now, wall: this.now + (this.#wallSkew.get(id) ?? 0) };
  }

  start(id: AgentId, store?: SqliteStore): void {
    const kept =
      store ?? new SqliteStore(openInMemory(), { durability: 'process', hostDelayMs: DELAY_MS });
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
          hostDelayMs: DELAY_MS,
          heartbeatMs: HEARTBEAT_MS,
          pagesPerHost: 10_000,
          robots: false,
          parseRobots: () => ({ allows: () => ({ allowed: true }) }),
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
    };
    this.agents.set(id, agent);
    agent.inputs.push(() => core.start(this.instant(id)));
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
      quorum: this.#o.quorum ?? 'none',
      heartbeatMs: HEARTBEAT_MS,
      suspectAfterMs: SUSPECT_MS,
      leaseMs: 0.6 * SUSPECT_MS,
      hostDelayMs: DELAY_MS,
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
    for (const visit of agent.open.values()) visit.end = Math.min(visit.end, this.now);
    return agent.store;
  }

  stall(id: AgentId, ms: number): void {
    this.agents.get(id)!.stalledUntil = this.now + ms;
  }

  cut(from: AgentId, to: AgentId): void {
    this.#cuts.add(`${from}>${to}`);
  }

  heal(): void {
    this.#cuts.clear();
  }

  // ---- time

  run(ms: number): void {
    const until = this.now + ms;
    while (this.now < until) this.#step();
  }

  /** Runs until the claim holds; fails after `ms` of virtual time. */
  runUntil(what: string, holds: () => boolean, ms = 60_000): void {
    const until = this.now + ms;
    while (!holds()) {
      if (this.now >= until) throw new Error(`never came true: ${what}\n${this.describe()}`);
      this.#step();
    }
  }

  runToEnd(ms = 60_000): void {
    this.runUntil('all ended', () => this.living().length === 0, ms);
  }

  living(): Running[] {
    return [...this.agents.values()].filter((a) => a.alive && a.end === null);
  }

  describe(): string {
    return this.living()
      .map((a) => JSON.stringify(a.core.snapshot(this.instant(a.id))))
      .join('\n');
  }

  #step(): void {
    this.now += STEP_MS;
    const due = this.#queue.filter((m) => m.at <= this.now);
    for (const m of due) this.#queue.splice(this.#queue.indexOf(m), 1);
    for (const { to, envelope } of due) {
      const agent = this.agents.get(to);
      if (!agent?.alive) continue;
      agent.inputs.push(() => agent.core.onMessage(envelope, this.instant(to)));
    }
    for (const agent of this.agents.values()) this.#turn(agent);
  }

  #turn(agent: Running): void {
    if (!agent.alive || agent.end || agent.stalledUntil > this.now) return;
    agent.store.begin();
    const inputs = agent.inputs;
    agent.inputs = [];
    for (const input of inputs) input();
    agent.core.onDeadline(this.instant(agent.id));
    agent.store.commit(false);
    agent.core.committed();
    for (const effect of agent.effects.take()) this.#perform(agent, effect);
  }

  #perform(agent: Running, effect: Effect): void {
    switch (effect.type) {
      case 'send': {
        const { to, envelope } = effect;
        this.sent.push({ from: agent.id, to: to.id, message: envelope.message });
        if (this.#cuts.has(`${agent.id}>${to.id}`)) return;
        const copy = JSON.parse(JSON.stringify(envelope)) as Envelope;
        this.#queue.push({ at: this.now + MESSAGE_MS, to: to.id, envelope: copy });
        return;
      }
      case 'request':
        return this.#request(agent, effect.request);
      case 'abort': {
        const visit = agent.open.get(effect.request);
        if (visit && visit.end > this.now) visit.end = this.now;
        return;
      }
      case 'end':
        agent.end = { code: effect.code, reason: effect.reason };
        return;
      default:
    }
  }

  #request(agent: Running, request: PageRequest): void {
    const { host, url } = request;
    const visit: Visit = { host, url, by: agent.id, start: this.now, end: this.now + REQUEST_MS };
    this.log.push(visit);
    agent.open.set(request.id, visit);
    const answer = () => {
      if (!agent.alive) return;
      if (this.now < visit.end || agent.stalledUntil > this.now) {
        agent.inputs.push(answer);
        return;
      }
      agent.open.delete(request.id);
      const aborted = visit.end < visit.start + REQUEST_MS;
      agent.core.onPage(this.#outcome(request, visit, aborted), this.instant(agent.id));
    };
    agent.inputs.push(answer);
  }

  #outcome(request: PageRequest, visit: Visit, aborted: boolean): Outcome {
    const common = { request, endedAt: visit.end, durationMs: visit.end - visit.start, ip: null };
    if (aborted) {
      const code = 'aborted';
      return { ...common, kind: 'failure', code, message: code, cause: 'withdrawn' };
    }
    const links = (this.#o.web.get(request.url) ?? []).map((url) => {
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

  fetched(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { url, start, end } of this.log) {
      if (end - start >= REQUEST_MS) counts.set(url, (counts.get(url) ?? 0) + 1);
    }
    return counts;
  }

  /** Pairs of requests to one host that overlap, or follow closer than the delay. */
  impolite(): string[] {
    const found: string[] = [];
    const last = new Map<string, Visit>();
    for (const visit of [...this.log].sort((a, b) => a.start - b.start)) {
      const before = last.get(visit.host);
      if (before && visit.start - before.end < DELAY_MS) {
        const gap = visit.start - before.end;
        found.push(`${visit.url} by ${visit.by}: ${gap} ms after ${before.url} by ${before.by}`);
      }
      if (!before || visit.end > before.end) last.set(visit.host, visit);
    }
    return found;
  }
}

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
