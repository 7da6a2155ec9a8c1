// Schedules in which Redis executes a command after its sender has given it up, and one with a network
// that has ended, which never happens in the swarm, where all end together. The shipped centres
// and leases run over the simulated server; a schedule says which commands are late, and how late.
// The swarm cannot tell this harm from that of the fault itself: these checks excuse nothing.

import { Centre } from '../../../agent/networks/centre.ts';
import { digestOf } from '../../../agent/networks/digests.ts';
import { HostLeases } from '../../../agent/networks/host-leases.ts';
import type { NetworkParts } from '../../../agent/networks/network-settings.ts';
import type { Digest, Pools } from '../../../agent/networks/pools.ts';
import { Reporter } from '../../../agent/networks/reporter.ts';
import { Submitter } from '../../../agent/networks/submitter.ts';
import { sha256 } from './model-agent.ts';
import type { NetworkRule } from './network-mutations.ts';
import { type PoolsModel, RedisModel } from './redis-model.ts';
import { VirtualTime } from './virtual-time.ts';

const networks = ['berlin', 'paris'];
/** A command without an answer fails after this time. */
const COMMAND_MS = 400;
const PUMP_MS = 10;
const UNTIL_MS = 60_000;
const LEASE_MS = 3000;
const times = { onTimeout: 'wait', timeoutMs: 900, leaseMs: LEASE_MS } as const;
/** Of a host. */
const DELAY_MS = 500;
/** More than fail before a lease ends. */
const RENEWALS_MAX = 20;
const digest: Digest = digestOf('page', sha256);

interface Late {
  readonly agent: string;
  readonly name: keyof Pools;
  execute: (() => void) | null;
}

class Stage {
  readonly time = new VirtualTime();
  readonly #model = new RedisModel(() => this.time.nowMs);
  readonly #pumps: (() => void)[] = [];
  readonly #late: Late[] = [];

  constructor() {
    for (const network of networks) this.pools(network).setFilled();
    const tick = () => {
      for (const pump of this.#pumps) pump();
      this.time.after(PUMP_MS, tick);
    };
    tick();
  }

  /** The pools as they are now. */
  pools(network: string): PoolsModel {
    return this.#model.pools(network);
  }

  /** The next command of this name is late; after several calls so many commands are. */
  delay(agent: string, name: keyof Pools): void {
    this.#late.push({ agent, name, execute: null });
  }

  /** Late commands that were sent. */
  get sentLate(): number {
    return this.#late.filter(({ execute }) => execute !== null).length;
  }

  /** Executes the late commands that were sent, in order. */
  executeLate(): void {
    for (const { execute } of this.#late) execute?.();
    this.#late.splice(0, this.sentLate);
  }

  async until(what: string, isDone: () => boolean): Promise<void> {
    await this.time.run(UNTIL_MS, isDone);
    if (!isDone()) throw new Error(`the schedule does not get to: ${what}`);
  }

  async pass(ms: number): Promise<void> {
    const atMs = this.time.nowMs + ms;
    await this.until('a later time', () => this.time.nowMs >= atMs);
  }

  centre(agent: string, isWanted = () => true): Centre {
    const centre = new Centre({
      ...this.#parts(agent),
      isWanted,
      settled: () => {},
      members: () => ({ agents: [agent], isPartial: false }),
      now: () => this.time.now,
    });
    this.#pumps.push(() => centre.pump(this.time.now));
    return centre;
  }

  leases(agent: string): HostLeases {
    const leases = new HostLeases({ ...this.#parts(agent), wakeHost: () => {} });
    this.#pumps.push(() => leases.pump(this.time.now));
    return leases;
  }

  /** An agent whose only URL is the page, which another network has claimed. */
  waiting(agent: string, decided: (isNew: boolean) => void): void {
    const submitter = new Submitter({
      ...this.#parts(agent),
      store: {
        more: () => [],
        elsewhere: (after) => (after === null ? ['page'] : []),
        decide: (_, { kind }) => {
          decided(kind === 'new');
          return true;
        },
        isIdle: () => true,
        queued: () => 0,
      },
      ...{ release: () => {}, sends: () => {}, claimsMissing: () => {} },
    });
    this.#pumps.push(() => submitter.pump(this.time.now));
  }

  /** An agent that owns the page's host, and does not want the page. */
  owner(agent: string): void {
    const reporter = new Reporter({
      ...this.#parts(agent),
      store: {
        ...{ unreported: () => [], reported: () => {}, isIdle: () => true },
        askAgain: () => {},
        fill: () => ({ finished: [], queued: [], next: null }),
      },
      standingOf: () => 'other',
    });
    this.#pumps.push(() => reporter.pump(this.time.now));
  }

  submit(network: string, number: string): void {
    const from = { number, network, origin: network, relay: network, sender: network };
    this.pools(network).submit({ ...from, flag: 1, digests: [digest] });
  }

  /** The network that has the page, by the verdict on a frame; '': the one that asked. */
  async verdict(network: string, number: string): Promise<string> {
    const found = () =>
      this.pools(network)
        .verdicts(network, '0', 10)
        .find(({ verdict }) => verdict.number === number);
    await this.until(`the verdict on ${number}`, () => found() !== undefined);
    return found()!.verdict.owners[0]!;
  }

  #parts(agent: string): NetworkParts {
    const network = agent.split('-')[0]!;
    // Berlin has fewer seeds: it keeps a page for which both ask.
    const seeds = network === 'berlin' ? 1 : 2;
    return {
      settings: { ...times, network, networks, seeds, batch: 10 },
      ...{ agent, token: `${agent}.1`, sha256, wake: () => {} },
      pools: new Map(networks.map((name) => [name, this.#connect(agent, name)])),
      onError: (error) => {
        if (!/no answer/.test(String(error))) throw error;
      },
    };
  }

  #connect(agent: string, network: string): Pools {
    const model = this.pools(network);
    const call = (name: keyof Pools, args: unknown[]) =>
      new Promise((resolve, reject) => {
        const run = model[name] as (...given: unknown[]) => unknown;
        const execute = () => {
          const result = run(...args);
          this.time.after(1, () => resolve(result));
        };
        const late = this.#late.find(
          (each) => each.agent === agent && each.name === name && each.execute === null,
        );
        if (late) late.execute = execute;
        else this.time.after(1, execute);
        this.time.after(COMMAND_MS, () => reject(new Error(`${name}: no answer`)));
      });
    const names = Object.keys(model) as (keyof Pools)[];
    const calls = names.map((name) => [name, (...args: unknown[]) => call(name, args)] as const);
    return Object.fromEntries(calls) as unknown as Pools;
  }
}

/** A host whose lease is not renewed in time; paris waits for it. */
async function expired() {
  const stage = new Stage();
  const [first, other] = [stage.leases('berlin-1'), stage.leases('paris-1')];
  const enters = (leases: HostLeases) =>
    leases.enter('host', DELAY_MS, stage.time.now).kind === 'go';
  await stage.until('a lease', () => enters(first));
  for (let i = 0; i < RENEWALS_MAX; i++) stage.delay('berlin-1', 'acquire');
  let endedAtMs = Infinity;
  await stage.until('the next lease', () => {
    const { nowMs, now } = stage.time;
    if (!first.mayGoOn('host', now)) endedAtMs = Math.min(endedAtMs, nowMs);
    return enters(other);
  });
  return { endedAtMs, nextAtMs: stage.time.nowMs };
}

/** Each returns what is wrong at its end; null: nothing. */
export const LATE_COMMANDS = {
  /** A centre's claim is executed after another centre has left the page to paris. */
  'one-centre': async () => {
    const stage = new Stage();
    stage.pools('paris').hold([digest]);
    stage.centre('paris-1');
    let wanted = 'berlin-1';
    const first = stage.centre('berlin-1', () => wanted === 'berlin-1');
    await stage.until('a centre', () => first.isLeading);
    stage.delay('berlin-1', 'claim');
    stage.submit('berlin', 'f1');
    await stage.until('the claim', () => stage.sentLate === 1);
    wanted = 'berlin-2';
    stage.centre('berlin-2', () => wanted === 'berlin-2');
    await stage.verdict('berlin', 'f1');
    stage.executeLate();
    stage.submit('berlin', 'f2');
    const owner = await stage.verdict('berlin', 'f2');
    return owner === 'paris' ? null : 'both networks have the page';
  },
  /** A claim is executed after the page was given up, and released. */
  doubted: async () => {
    const stage = new Stage();
    stage.centre('berlin-1');
    stage.centre('paris-1');
    stage.owner('paris-1');
    stage.submit('paris', 'f1');
    await stage.verdict('paris', 'f1');
    let isDecided = false;
    stage.waiting('berlin-1', (isNew) => {
      isDecided ||= isNew;
    });
    await stage.pass(4 * LEASE_MS);
    return isDecided ? null : 'nobody gets the page';
  },
  /** A claim is executed between the look at the open frames and its repetition. */
  'marks-kept': async () => {
    const stage = new Stage();
    stage.pools('paris').hold([digest]);
    stage.centre('paris-1');
    stage.centre('berlin-1');
    stage.delay('berlin-1', 'claim');
    stage.delay('berlin-1', 'claim');
    stage.submit('berlin', 'f1');
    await stage.until('the repeated claim', () => stage.sentLate === 2);
    stage.executeLate();
    const owner = await stage.verdict('berlin', 'f1');
    return owner === 'paris' ? null : 'both networks have the page';
  },
  /** A question arrives after paris has its answer, while berlin asks for the page itself. */
  'answer-awaited': async () => {
    const stage = new Stage();
    stage.centre('berlin-1');
    stage.centre('paris-1');
    stage.delay('paris-1', 'ask');
    stage.submit('paris', 'f1');
    if ((await stage.verdict('paris', 'f1')) !== '') throw new Error('paris has the page first');
    // The answer of paris, which may come late, too.
    stage.delay('paris-1', 'ask');
    stage.submit('berlin', 'f1');
    await stage.until('the answer', () => stage.sentLate === 2);
    stage.executeLate();
    const owner = await stage.verdict('berlin', 'f1');
    return owner === 'paris' ? null : 'both networks have the page';
  },
  /** A host is released after another agent of the network has its lease. */
  'grant-named': async () => {
    const stage = new Stage();
    const [first, second, other] = ['berlin-1', 'berlin-2', 'paris-1'].map((agent) =>
      stage.leases(agent),
    );
    const enter = (leases: HostLeases) => leases.enter('host', 0, stage.time.now).kind === 'go';
    await stage.until('a lease', () => enter(first!));
    stage.delay('berlin-1', 'releaseHosts');
    first!.leave('host', stage.time.now);
    await stage.until('the release', () => stage.sentLate === 1);
    await stage.until('the next lease', () => enter(second!));
    stage.executeLate();
    enter(other!);
    await stage.pass(LEASE_MS / 4);
    return enter(second!) && enter(other!) ? 'both networks visit the host' : null;
  },
  /** Paris has fetched the page and has ended. */
  'direct-reads': async () => {
    const stage = new Stage();
    stage.pools('paris').finish([digest]);
    stage.centre('berlin-1');
    stage.submit('berlin', 'f1');
    const owner = await stage.verdict('berlin', 'f1');
    return owner === 'paris' ? null : 'the page of paris is fetched again';
  },
  /** A claim is executed while paris is at rest. */
  'claims-at-rest': async () => {
    const stage = new Stage();
    stage.pools('paris').mark('', 'rest 1');
    stage.pools('paris').hold([digest]);
    stage.centre('paris-1');
    stage.centre('berlin-1');
    stage.submit('berlin', 'f1');
    const owner = await stage.verdict('berlin', 'f1');
    return owner === '' ? null : 'nobody gets the page';
  },
  /** A request is open when the lease of its host ends. */
  'may-go-on': async () => {
    const { endedAtMs, nextAtMs } = await expired();
    return endedAtMs <= nextAtMs ? null : 'both networks visit the host';
  },
  /** The last request ends with the lease of its host. */
  'delay-after-expiry': async () => {
    const { endedAtMs, nextAtMs } = await expired();
    return nextAtMs - endedAtMs >= DELAY_MS - PUMP_MS ? null : 'the host has no delay';
  },
} satisfies Partial<Record<NetworkRule, () => Promise<string | null>>>;

export type LateRule = keyof typeof LATE_COMMANDS;
