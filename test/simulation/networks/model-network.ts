// A simulated network: the rows of its crawl, which survive a crash of their agent as copies do, and
// its agents, with the view by which they own hosts.

import type { NetworkSettings } from '../../../agent/networks/network-settings.ts';
import type { Pools } from '../../../agent/networks/pools.ts';
import { ranked } from '../../../agent/networks/rendezvous.ts';
import type { Random } from '../random.ts';
import type { Checkers } from './checkers.ts';
import { ModelAgent, sha256 } from './model-agent.ts';
import { hostOf, type Web } from './random-web.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Row {
  readonly page: string;
  state: 'waiting' | 'queued' | 'open' | 'finished' | 'skipped' | 'elsewhere' | 'final';
  /** What Redis has not confirmed. */
  unreported: 'finished' | 'released' | null;
  /** Redis has confirmed a report; a new owner reports again. */
  wasReported: boolean;
  /** The network that has it. */
  at: string;
}

/** After a crash the others take the hosts over. */
const SUSPECT_MS = 700;
/** The agents know of the completion after this time. */
const TOLD_MS = 600;
/** A complete network stays this long. */
const END_MS = 500;

export interface NetworkOptions {
  readonly name: string;
  readonly agents: number;
  readonly settings: NetworkSettings;
  readonly web: Web;
  readonly seeds: readonly string[];
  readonly time: VirtualTime;
  readonly random: Random;
  readonly checkers: Checkers;
  readonly connect: (network: string, agent: string, isCut: () => boolean) => Pools;
  readonly discovered: (page: string) => void;
  readonly ended: (network: ModelNetwork) => void;
}

export class ModelNetwork {
  readonly name: string;
  readonly web: Web;
  readonly rows = new Map<string, Row>();
  readonly #byHost = new Map<string, Row[]>();
  readonly #o: NetworkOptions;
  readonly agents = new Map<string, ModelAgent>();
  /** The agents that the running agents know. */
  view: string[] = [];
  readonly #owners = new Map<string, string | null>();
  readonly #nextVisits = new Map<string, number>();
  #incarnations = 0;
  isOver = false;
  /** Since when an agent has been running (ms). */
  upSinceMs = Infinity;
  isGone = false;
  /** URLs given to other networks. */
  given = 0;

  constructor(options: NetworkOptions) {
    this.#o = options;
    this.name = options.name;
    this.web = options.web;
  }

  begin(): void {
    for (let i = 1; i <= this.#o.agents; i++) this.start(`${this.name}-${i}`);
    for (const page of this.#o.seeds) this.discover(page);
  }

  start(id: string): void {
    if (this.isOver || this.agents.get(id)?.isRunning) return;
    const { settings, time, random, checkers, connect } = this.#o;
    let agent: ModelAgent | null = null;
    const isCut = () => agent?.isRunning === false;
    const pools = new Map(settings.networks.map((name) => [name, connect(name, id, isCut)]));
    const incarnation = ++this.#incarnations;
    agent = new ModelAgent({
      ...{ id, incarnation, network: this, settings, pools, time, random, checkers },
    });
    if (this.#running().length === 0) this.upSinceMs = time.nowMs;
    this.agents.set(id, agent);
    if (!this.view.includes(id)) this.view = [...this.view, id].sort();
    for (const each of this.view) if (!this.agents.get(each)?.isRunning) this.#suspectLater(each);
    this.#viewChanged();
  }

  /** `withVerdicts`: the last ones are on its disk. */
  crash(id: string, withVerdicts: boolean): void {
    const agent = this.agents.get(id);
    if (!agent?.isRunning) return;
    agent.crash();
    if (this.#running().length === 0) this.upSinceMs = Infinity;
    for (const row of this.rows.values()) {
      if (this.owner(hostOf(row.page)) !== id) continue;
      if (row.state === 'open') row.state = 'queued';
      const isLost = !withVerdicts && this.#o.random.chance(0.5);
      if (isLost && (row.state === 'queued' || row.state === 'elsewhere')) row.state = 'waiting';
    }
    this.#suspectLater(id);
  }

  /** If no agent is left to see it, one that starts later does. */
  #suspectLater(id: string): void {
    this.#o.time.after(SUSPECT_MS, () => {
      if (this.agents.get(id)?.isRunning || this.#running().length === 0) return;
      this.view = this.view.filter((each) => each !== id);
      this.#viewChanged();
    });
  }

  /** The agent that owns the network's name. */
  centre(): string | null {
    return this.view.length === 0 ? null : ranked(this.view, this.name, sha256)[0]!;
  }

  owner(host: string): string | null {
    return this.#owners.get(host) ?? null;
  }

  #viewChanged(): void {
    this.moveHosts();
    for (const agent of this.agents.values()) if (agent.isRunning) agent.viewChanged();
  }

  /** Hosts move to their owners when no request to them is open. */
  moveHosts(): void {
    for (const host of this.#byHost.keys()) {
      const owner = this.view.length === 0 ? null : ranked(this.view, host, sha256)[0]!;
      const before = this.#owners.get(host) ?? null;
      if (owner === before || (before && this.agents.get(before)?.isVisiting(host))) continue;
      this.#owners.set(host, owner);
      if (before !== null) this.#taken(host);
      for (const id of [before, owner]) {
        const agent = id === null ? undefined : this.agents.get(id);
        if (agent?.isRunning) agent.viewChanged();
      }
    }
  }

  /** Copies have no verdicts, and the last owner may not have reported: the new one does both again. */
  #taken(host: string): void {
    for (const row of this.rowsOf(host)) {
      if (row.state === 'queued' || row.state === 'elsewhere') row.state = 'waiting';
      else if (row.state === 'finished') row.unreported = 'finished';
      else if (row.state === 'skipped') row.unreported = 'released';
    }
  }

  /** The scope of its config excludes a host that it is given. */
  refuses(host: string): boolean {
    return bytesOf(`${this.name} ${host}`)[0]! < 40;
  }

  hosts(): Iterable<string> {
    return this.#byHost.keys();
  }

  rowsOf(host: string): readonly Row[] {
    return this.#byHost.get(host) ?? [];
  }

  firstQueued(host: string): Row | undefined {
    return this.rowsOf(host).find(({ state }) => state === 'queued');
  }

  counts(host: string): { queued: number; waiting: number } {
    let [queued, waiting] = [0, 0];
    for (const { state } of this.rowsOf(host)) {
      if (state === 'queued' || state === 'open') queued++;
      if (state === 'waiting') waiting++;
    }
    return { queued, waiting };
  }

  nextVisitMs(host: string): number {
    return this.#nextVisits.get(host) ?? 0;
  }

  visited(host: string, endMs: number): void {
    this.#nextVisits.set(host, endMs + this.web.delayMs.get(host)!);
  }

  discover(page: string): void {
    if (this.rows.has(page)) return;
    const row: Row = { page, state: 'waiting', unreported: null, wasReported: false, at: '' };
    const host = hostOf(page);
    this.rows.set(page, row);
    this.#o.discovered(page);
    const rows = this.#byHost.get(host);
    if (rows) rows.push(row);
    else {
      this.#byHost.set(host, [row]);
      this.moveHosts();
    }
    this.#ownerOf(row)?.offer(page);
    const { time, random } = this.#o;
    if (random.chance(0.05)) time.after(random.between(0, 400), () => this.#giveUp(row));
  }

  #ownerOf(row: Row): ModelAgent | null {
    const agent = this.agents.get(this.owner(hostOf(row.page)) ?? '');
    return agent?.isRunning ? agent : null;
  }

  #giveUp(row: Row): void {
    if (row.state !== 'waiting' && row.state !== 'queued') return;
    this.#ownerOf(row)?.giveUp(row);
    const [, isWanted = 0, later = 0] = bytesOf(`${this.name} ${row.page}`);
    if (isWanted < 128) this.#o.time.after(later * 16, () => this.#wantAgain(row));
  }

  /** A block ends, for example; not at the end, when agents may have ended. */
  #wantAgain(row: Row): void {
    const owner = this.#ownerOf(row);
    if (row.state !== 'skipped' || this.isComplete || !owner) return;
    Object.assign(row, { state: 'waiting', unreported: null });
    owner.offer(row.page);
  }

  /** What the cluster does at its end: the agents learn at different times that all were idle. */
  checkEnd(): void {
    if (this.isOver || !this.isComplete) return;
    const { time, random } = this.#o;
    for (const agent of this.#running()) {
      const { period } = agent;
      time.after(random.between(0, TOLD_MS), () => {
        agent.completed = period;
        agent.turnIn(0);
      });
    }
  }

  /** It may have news for other networks. */
  get works(): boolean {
    const isNews = ({ state, unreported, wasReported }: Row) =>
      ['waiting', 'queued', 'open', 'elsewhere'].includes(state) ||
      (unreported !== null && !wasReported);
    return [...this.rows.values()].some(isNews) || this.#running().length === 0;
  }

  /** No agent has work. */
  get isComplete(): boolean {
    for (const { state, unreported } of this.rows.values()) {
      if (state === 'waiting' || state === 'queued' || state === 'open') return false;
      if (state === 'elsewhere' || unreported !== null) return false;
    }
    const running = this.#running();
    return running.length > 0 && running.every((agent) => agent.isDone());
  }

  #running(): ModelAgent[] {
    return [...this.agents.values()].filter(({ isRunning }) => isRunning);
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#o.ended(this);
    this.#o.time.after(END_MS, () => {
      for (const agent of this.agents.values()) agent.crash();
      this.isGone = true;
    });
  }

  /** Why it has not ended. */
  why(): string {
    const states = [...this.rows.values()].map((row) => `${row.state} ${row.unreported ?? ''}`);
    const counts = new Map<string, number>();
    for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
    const now = this.#o.time.now;
    const told = this.#running().map(
      ({ id, client }) => `${id} ${JSON.stringify(client.status(now))}`,
    );
    return `${JSON.stringify([...counts])} ${told.join(' ')}`;
  }

  checkRows(): void {
    const { checkers } = this.#o;
    if (!this.isGone) return;
    for (const { page, state, at } of this.rows.values()) {
      if (state === 'finished' || state === 'skipped') continue;
      const isThere = state === 'final' && checkers.wasFetched(page, at);
      if (!isThere)
        checkers.fail(`${page}: ${this.name} left it ${state} ${at}, and it is missing`);
    }
  }
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(sha256(text), 'base64url');
}
