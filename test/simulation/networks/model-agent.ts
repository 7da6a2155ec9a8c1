// A simulated agent: the shipped protocol between networks over a simple frontier. Its rows are kept
// by its network, as copies are, so another agent can take them over.

import { createHash } from 'node:crypto';
import { NetworkClient } from '../../../agent/networks/client/network-client.ts';
import type { NetworkSettings } from '../../../agent/networks/network-settings.ts';
import type { GivenUrl, Pools } from '../../../agent/networks/pools.ts';
import type { Filling, Report, Standing } from '../../../agent/networks/reporter.ts';
import type { Verdict } from '../../../agent/networks/submitter.ts';
import type { Random } from '../random.ts';
import type { Checkers } from './checkers.ts';
import type { ModelNetwork, Row } from './model-network.ts';
import { hostOf } from './random-web.ts';
import type { VirtualTime } from './virtual-time.ts';

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** A turn comes at least this often. */
const TURN_MS = 250;

/** The states of a page that is not settled. */
const WORK = new Set(['waiting', 'queued', 'open', 'elsewhere']);

interface Visit {
  readonly row: Row;
  readonly checked: ReturnType<Checkers['started']>;
  isOver: boolean;
}

interface ModelAgentParts {
  readonly id: string;
  readonly incarnation: number;
  readonly network: ModelNetwork;
  readonly settings: NetworkSettings;
  readonly pools: ReadonlyMap<string, Pools>;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly checkers: Checkers;
}

/** A turn decides so few URLs of a verdict, in half of the networks. */
const DECIDED_MAX = 3;

function shortSlice() {
  let left = 0;
  return {
    begin: () => {
      left = DECIDED_MAX;
    },
    mayGoOn: () => left-- > 0,
  };
}

export class ModelAgent {
  readonly id: string;
  readonly client: NetworkClient;
  readonly #p: ModelAgentParts;
  readonly #visits = new Map<string, Visit>();
  readonly #entered = new Set<string>();
  readonly network: ModelNetwork;
  readonly errors: string[] = [];
  isRunning = true;
  /** Counts idle periods: work ends one. */
  period = 0;
  /** The period that the completion of the network covers. */
  completed: number | null = null;
  #turnAtMs = Infinity;

  constructor(parts: ModelAgentParts) {
    this.#p = parts;
    this.id = parts.id;
    const { network, settings, pools } = parts;
    this.network = network;
    this.client = new NetworkClient({
      ...{ settings, pools, sha256, agent: parts.id, token: `${parts.id}.${parts.incarnation}` },
      ...(settings.batch % 2 === 0 && { slice: shortSlice() }),
      wake: () => this.turnIn(0),
      onError: (error) => {
        if (!/refused|no answer/.test(String(error))) throw error;
      },
      isCentreWanted: () => this.isRunning && network.centre() === this.id && !network.isOver,
      members: () => ({ agents: network.view, isPartial: false }),
      wakeHost: () => this.turnIn(0),
      isDone: () => this.isDone(),
      activity: () => void this.period++,
      store: {
        more: (max) => this.#rows((row) => row.state === 'waiting', null, max),
        elsewhere: (after, max) => this.#rows((row) => row.state === 'elsewhere', after, max),
        decide: (page, verdict) => this.#decide(page, verdict),
        isIdle: () => this.isIdle(),
        queued: () => this.#queued(),
        unreported: (max) => this.#unreported(max),
        reported: (reports) => this.#reported(reports),
        fill: (from, max) => this.#fill(from, max),
        askAgain: (pages) => this.askAgain(pages),
        standingOf: (page) => this.standingOf(page),
        spareHosts: () => this.#spareHosts(),
        give: (host, other, max) => this.give(host, other, max),
        accept: (urls) => {
          for (const { url } of urls) if (!network.refuses(hostOf(url))) network.discover(url);
        },
      },
    });
    this.turnIn(0);
  }

  turnIn(ms: number): void {
    const atMs = this.#p.time.nowMs + ms;
    if (!this.isRunning || atMs >= this.#turnAtMs) return;
    this.#turnAtMs = atMs;
    this.#p.time.after(ms, () => {
      if (this.#turnAtMs === atMs) this.#turn();
    });
  }

  /** The process ends; its open requests end with it. */
  crash(): void {
    this.isRunning = false;
    for (const visit of this.#visits.values()) this.#end(visit);
  }

  /** Other agents own these hosts now. */
  viewChanged(): void {
    for (const host of this.#entered) {
      if (this.#p.network.owner(host) === this.id) continue;
      this.client.handedOver(host);
      this.#entered.delete(host);
    }
    this.client.storeChanged();
    this.turnIn(0);
  }

  isVisiting(host: string): boolean {
    return this.#visits.has(host);
  }

  isIdle(): boolean {
    if (this.#visits.size > 0) return false;
    for (const host of this.#hosts()) {
      const { queued, waiting } = this.#p.network.counts(host);
      if (queued + waiting > 0) return false;
    }
    return true;
  }

  #queued(): number {
    let queued = 0;
    for (const host of this.#hosts()) queued += this.#p.network.counts(host).queued;
    return queued;
  }

  isDone(): boolean {
    for (const host of this.#hosts()) {
      for (const { state, unreported } of this.#p.network.rowsOf(host)) {
        if (WORK.has(state) || unreported !== null) return false;
      }
    }
    return this.client.isQuiet;
  }

  /** The network was complete at a moment of this idle period. */
  get isComplete(): boolean {
    return this.isRunning && this.completed === this.period && this.isDone();
  }

  *#hosts(): Generator<string> {
    for (const host of this.#p.network.hosts()) {
      if (this.#p.network.owner(host) === this.id) yield host;
    }
  }

  #turn(): void {
    this.#turnAtMs = Infinity;
    if (!this.isRunning) return;
    const { time, network } = this.#p;
    if (!this.isDone()) this.period++;
    this.client.pump(time.now);
    if (this.isComplete && this.client.mayEnd()) network.end();
    for (const visit of this.#visits.values()) {
      const host = hostOf(visit.row.page);
      if (!this.client.mayGoOn(host, time.now)) this.#abort(visit);
    }
    let nextMs = time.nowMs + TURN_MS;
    for (const host of this.#hosts()) nextMs = Math.min(nextMs, this.#visitNext(host));
    nextMs = Math.min(nextMs, this.client.nextAtMs(time.now));
    this.turnIn(Math.max(1, nextMs - time.nowMs));
  }

  /** Starts a request if one is due. Returns when to look again. */
  #visitNext(host: string): number {
    const { network, time, random, checkers } = this.#p;
    if (this.#visits.has(host)) return Infinity;
    const row = network.firstQueued(host);
    if (!row) {
      if (this.#entered.delete(host)) this.client.leaveHost(host, time.now);
      return Infinity;
    }
    const delayMs = network.web.delayMs.get(host)!;
    if (time.nowMs < network.nextVisitMs(host)) return network.nextVisitMs(host);
    this.#entered.add(host);
    const entry = this.client.enterHost(host, delayMs, time.now);
    if (entry.kind === 'wait') return entry.untilMs ?? Infinity;
    row.state = 'open';
    const { isLeased } = entry;
    const what = { network: network.name, page: row.page, delayMs, isLeased };
    const checked = checkers.started(what, time.nowMs);
    const visit: Visit = { row, checked, isOver: false };
    this.#visits.set(host, visit);
    time.after(random.between(5, 150), () => {
      if (this.isRunning && !visit.isOver) this.#finish(visit);
    });
    return Infinity;
  }

  #end(visit: Visit): void {
    const { network, time } = this.#p;
    const host = hostOf(visit.row.page);
    visit.isOver = true;
    visit.checked.endMs = time.nowMs;
    this.#visits.delete(host);
    network.visited(host, time.nowMs);
    if (this.isRunning) this.client.requestEnded(host, time.nowMs, visit.checked.delayMs);
  }

  #abort(visit: Visit): void {
    this.#end(visit);
    visit.row.state = 'queued';
  }

  #finish(visit: Visit): void {
    const { network, checkers } = this.#p;
    const { row } = visit;
    this.#end(visit);
    row.state = 'finished';
    row.unreported = 'finished';
    checkers.fetched(network.name, row.page);
    this.client.report([{ identity: row.page, kind: 'finished' }], this.#p.time.now);
    for (const page of network.web.links.get(row.page)!) network.discover(page);
    network.moveHosts();
    this.turnIn(0);
  }

  #spareHosts(): string[] {
    const { network } = this.#p;
    return [...this.#hosts()].filter((host) => {
      return !this.#visits.has(host) && network.firstQueued(host) !== undefined;
    });
  }

  give(host: string, other: string, max: number): GivenUrl[] {
    const queued = this.#p.network.rowsOf(host).filter(({ state }) => state === 'queued');
    const given = queued.slice(0, max);
    for (const row of given) Object.assign(row, { state: 'elsewhere', at: other });
    this.#p.network.given += given.length;
    return given.map(({ page }) => ({ url: page, depth: 1 }));
  }

  standingOf(page: string): Standing {
    if (this.#p.network.owner(hostOf(page)) !== this.id) return 'moved';
    const state = this.#p.network.rows.get(page)?.state ?? '';
    if (state === 'finished') return 'finished';
    return ['waiting', 'queued', 'open'].includes(state) ? 'queued' : 'other';
  }

  offer(page: string): void {
    this.client.offer([page], this.#p.time.now);
    this.turnIn(0);
  }

  giveUp(row: Row): void {
    row.state = 'skipped';
    row.unreported = 'released';
    this.client.report([{ identity: row.page, kind: 'released' }], this.#p.time.now);
    this.turnIn(0);
  }

  #decide(page: string, verdict: Verdict): boolean {
    const row = this.#p.network.rows.get(page)!;
    if (this.#p.network.owner(hostOf(page)) !== this.id) return true;
    // Also if the page was given up meanwhile: when it is wanted again, it may still have this claim.
    if (verdict.kind === 'new' && verdict.isPartial) {
      this.#p.checkers.partial(page, this.#p.time.nowMs);
    }
    if (row.state === 'skipped') return false;
    if (row.state !== 'waiting' && row.state !== 'elsewhere') return true;
    if (verdict.kind === 'new') {
      row.state = 'queued';
    } else {
      row.state = verdict.isFinal ? 'final' : 'elsewhere';
      row.at = verdict.network;
    }
    return true;
  }

  /** Pages of this agent's hosts, in the order of their names. */
  #rows(wanted: (row: Row) => boolean, after: string | null, max: number): string[] {
    const found: string[] = [];
    for (const host of this.#hosts()) {
      for (const row of this.#p.network.rowsOf(host)) {
        if (wanted(row) && (after === null || row.page > after)) found.push(row.page);
      }
    }
    return found.sort().slice(0, max);
  }

  #unreported(max: number): Report[] {
    const pages = this.#rows((row) => row.unreported !== null, null, max);
    return pages.map((identity) => ({
      identity,
      kind: this.#p.network.rows.get(identity)!.unreported!,
    }));
  }

  #reported(reports: readonly Report[]): void {
    for (const { identity, kind } of reports) {
      const row = this.#p.network.rows.get(identity)!;
      if (row.unreported !== kind) continue;
      row.unreported = null;
      row.wasReported = true;
    }
  }

  askAgain(pages: readonly string[]): void {
    for (const page of pages) {
      const row = this.#p.network.rows.get(page)!;
      if (row.state === 'queued' && this.standingOf(page) !== 'moved') row.state = 'waiting';
    }
    this.client.storeChanged();
  }

  #fill(from: string | null, max: number): Filling {
    const pages = this.#rows(() => true, from, max);
    const named = (...states: Row['state'][]) =>
      pages.filter((page) => states.includes(this.#p.network.rows.get(page)!.state));
    const next = pages.length < max ? null : pages.at(-1)!;
    return { finished: named('finished'), queued: named('queued', 'open'), next };
  }
}
