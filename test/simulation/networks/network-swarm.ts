// One run of several networks with faults: everything follows from the seed. After the last fault
// all networks must end, with nothing missing, and the checkers watch the requests meanwhile.

import type { NetworkSettings } from '../../../agent/networks/network-settings.ts';
import { Random } from '../random.ts';
import { Checkers } from './checkers.ts';
import { ModelNetwork } from './model-network.ts';
import { randomWeb } from './random-web.ts';
import { connect, Server } from './redis-link.ts';
import { VirtualTime } from './virtual-time.ts';

export const NETWORK_KINDS = [
  ...(['none', 'agents', 'centres', 'servers', 'links', 'mixed'] as const),
  'stops',
] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];

export interface NetworkRun {
  readonly violations: readonly string[];
  readonly requests: number;
  readonly duplicates: number;
  /** URLs given to other networks. */
  readonly given: number;
  /** Commands that were executed, by name. */
  readonly commands: ReadonlyMap<string, number>;
  readonly endedAtMs: number;
}

const UNTIL_MS = 300_000;
const LEASE_MS = 3000;
/** After a fault late commands are executed. */
const LATE_MS = 2000;
/** From the command that settles a frame to the decisions of its agent, without faults of servers. */
const VERDICT_MS = 1000;

export async function runNetworks(seed: number, kind: NetworkKind): Promise<NetworkRun> {
  const swarm = new Swarm(seed, kind);
  return swarm.run();
}

class Swarm {
  readonly #kind: NetworkKind;
  readonly #random: Random;
  readonly #time = new VirtualTime();
  readonly #checkers = new Checkers();
  readonly #servers: Server[];
  readonly #networks: ModelNetwork[];
  readonly #cut = new Set<string>();
  #excusedUntilMs = -Infinity;
  /** The only network that stops, with the kind `stops`. */
  #stopped: ModelNetwork | null = null;

  constructor(seed: number, kind: NetworkKind) {
    this.#kind = kind;
    this.#random = new Random(seed * 7919 + NETWORK_KINDS.indexOf(kind));
    const random = this.#random;
    const names = ['berlin', 'paris', 'rome'].slice(0, random.whole(2, 3));
    const servers = random.chance(0.3) ? 1 : names.length;
    this.#servers = Array.from({ length: servers }, (_, i) => new Server(`s${i}`, this.#time));
    const web = randomWeb(names.length, random);
    const serverOf = (name: string) => this.#servers[names.indexOf(name) % servers]!;
    const shared = {
      ...{ networks: names, timeoutMs: random.whole(600, 1200), leaseMs: LEASE_MS },
      ...{
        onTimeout: random.chance(0.6) ? ('proceed' as const) : ('wait' as const),
        batch: random.whole(1, 30),
      },
    };
    this.#networks = names.map((name, i) => {
      const settings: NetworkSettings = { ...shared, network: name, seeds: 1 + (i % 2) };
      return new ModelNetwork({
        ...{ name, agents: random.whole(1, 4), settings, web, seeds: web.seeds[i]! },
        ...{ time: this.#time, random, checkers: this.#checkers },
        connect: (other, agent, isGone) => {
          const isCut = () =>
            isGone() || this.#cut.has(agent) || this.#cut.has(`${agent} ${other}`);
          return connect(serverOf(other), other, isCut, this.#time, random);
        },
        ended: (network) => this.#ended(network),
        discovered: (page) => {
          if (this.#time.nowMs <= this.#excusedUntilMs) this.#checkers.excuse(page);
        },
      });
    });
  }

  async run(): Promise<NetworkRun> {
    const staggerMs = this.#random.pick([20, 3000]);
    for (const network of this.#networks) {
      this.#time.after(this.#random.between(0, staggerMs), () => network.begin());
    }
    this.#checkers.isStrict = this.#kind === 'none';
    if (this.#kind !== 'none') this.#planFaults();
    const check = () => {
      for (const network of this.#networks) network.checkEnd();
      this.#time.after(200, check);
    };
    this.#time.after(4000, check);
    await this.#time.run(UNTIL_MS, () => this.#networks.every(({ isGone }) => isGone));
    for (const network of this.#networks) {
      if (!network.isGone) this.#checkers.fail(`${network.name} did not end: ${network.why()}`);
      network.checkRows();
    }
    this.#checkers.duplicatesAtEnd();
    const commands = new Map<string, number>();
    for (const server of this.#servers) {
      for (const [name, n] of server.commands) commands.set(name, (commands.get(name) ?? 0) + n);
    }
    const { violations, requests, duplicates } = this.#checkers;
    const given = this.#networks.reduce((sum, network) => sum + network.given, 0);
    return { violations, requests, duplicates, given, commands, endedAtMs: this.#time.nowMs };
  }

  /** A network that can be seen holds the others up while it works. */
  #ended(network: ModelNetwork): void {
    if (!['none', 'agents', 'centres', 'stops'].includes(this.#kind)) return;
    for (const other of this.#networks) {
      const isSeen = this.#time.nowMs - other.upSinceMs > 2 * LEASE_MS;
      if (other === network || other.isOver || !other.works || !isSeen) continue;
      this.#checkers.fail(`${network.name} ended at ${this.#time.nowMs}, and ${other.name} works`);
    }
  }

  #planFaults(): void {
    const faults = this.#random.whole(1, 5);
    for (let i = 0; i < faults; i++) {
      this.#time.after(this.#random.between(500, 20_000), () => this.#fault());
    }
  }

  #fault(): void {
    const single = NETWORK_KINDS.filter((each) => each !== 'none' && each !== 'mixed');
    const kind = this.#kind === 'mixed' ? this.#random.pick(single) : this.#kind;
    if (kind === 'servers') this.#serverFault();
    else if (kind === 'links') this.#linkFault();
    else if (kind === 'stops') this.#stopFault();
    else this.#agentFault(kind === 'centres');
  }

  /** All agents of a network end, and start after less or more than a lease. */
  #stopFault(): void {
    this.#stopped ??= this.#random.pick(this.#networks);
    const network = this.#stopped;
    const running = [...network.agents.values()].filter(({ isRunning }) => isRunning);
    if (running.length === 0) return;
    this.#excuse(0);
    // If its claims lapse before it reports what it has fetched, the others fetch that, too.
    const asked = new Set<string>();
    for (const { page, state, unreported } of network.rows.values()) {
      if (unreported !== null) this.#checkers.excuse(page);
      if (state === 'waiting') asked.add(page);
    }
    for (const { id } of running) network.crash(id, this.#random.chance(0.8));
    // Until its centre has lost the role, no claim lapses.
    const lapsedFromMs = this.#time.nowMs + LEASE_MS + VERDICT_MS;
    this.#time.after(this.#random.between(100, 4 * LEASE_MS), () => {
      if (this.#kind === 'stops') this.#checkers.returned(network.name, asked, lapsedFromMs);
      for (const { id } of running) network.start(id);
    });
  }

  /** URLs that are in open batches between now and some time after the fault. */
  #excuse(faultMs: number): void {
    const untilMs = this.#time.nowMs + faultMs;
    this.#excusedUntilMs = Math.max(this.#excusedUntilMs, untilMs);
    for (const { rows } of this.#networks) {
      for (const { page, state } of rows.values()) {
        if (state === 'waiting' || state === 'elsewhere') this.#checkers.excuse(page);
      }
    }
  }

  #agentFault(isCentre: boolean): void {
    const network = this.#random.pick(this.#networks);
    const running = [...network.agents.values()].filter(({ isRunning }) => isRunning);
    const centre = running.find(({ client }) => client.isCentre);
    const agent = isCentre && centre ? centre : running[0] && this.#random.pick(running);
    if (!agent) return;
    const awayMs = this.#random.between(50, 6000);
    this.#excuse(0);
    network.crash(agent.id, this.#random.chance(0.5));
    this.#time.after(awayMs, () => network.start(agent.id));
  }

  #linkFault(): void {
    const network = this.#random.pick(this.#networks);
    const agents = [...network.agents.keys()];
    if (agents.length === 0) return;
    const agent = this.#random.pick(agents);
    const what = this.#random.chance(0.4)
      ? agent
      : `${agent} ${this.#random.pick(this.#networks).name}`;
    const ms = this.#random.between(100, 6000);
    this.#excuse(ms + LATE_MS);
    this.#cut.add(what);
    this.#time.after(ms, () => this.#cut.delete(what));
  }

  #serverFault(): void {
    const server = this.#random.pick(this.#servers);
    const ms = this.#random.between(100, 5000);
    const what = this.#random.pick(['slow', 'loss', 'down', 'empty', 'aof', 'old'] as const);
    if (what === 'slow' || what === 'loss') {
      this.#excuse(ms + LATE_MS);
      if (what === 'slow') server.slowMs = this.#random.between(100, 500);
      else server.lossShare = this.#random.between(0.03, 0.4);
      this.#time.after(ms, () => Object.assign(server, { slowMs: 0, lossShare: 0 }));
      return;
    }
    const copiedMs = { down: 0, empty: 0, aof: 900, old: 5000 }[what];
    const copy = copiedMs > 0 ? server.model.copy() : null;
    this.#time.after(copiedMs, () => {
      this.#excuse(ms);
      server.isDown = true;
      this.#time.after(ms, () => {
        server.isDown = false;
        const data = what === 'down' ? server.model.copy() : copy;
        server.model.restart(data);
        this.#excuse(0);
        if (what === 'down') return;
        const fromMs = this.#time.nowMs;
        this.#checkers.leasesLost.push({ fromMs, toMs: fromMs + LEASE_MS + 500 });
      });
    });
  }
}
