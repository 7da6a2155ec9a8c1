// A network of agents with routing tables, in virtual time and from one seed. Messages take a
// random time, and dead agents do not answer. It shows what the pure parts of routing do together:
// whether look-ups find the nearest agent, in how many hops, and what that costs under churn.

import { createHash } from 'node:crypto';
import { type Contact, distanceTo, randomKeyIn } from '../../agent/kademlia/routing/contact.ts';
import { Lookup, type NearestFound } from '../../agent/kademlia/routing/lookup.ts';
import { RoutingTable } from '../../agent/kademlia/routing/routing-table.ts';
import type { RingMember } from '../../assignment/assignment.ts';
import { identifiersOf, type Key, type Sha1 } from '../../assignment/identifiers.ts';
import { Random } from './random.ts';

const sha1: Sha1 = (text) => createHash('sha1').update(text).digest();

export interface NetworkOptions {
  readonly seed: number;
  /** Identifiers of each agent. */
  readonly ids: number;
  readonly bucketSize: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly pingTimeoutMs: number;
  readonly pingAfterMs: number;
  readonly refreshMs: number;
  /** Whether a new agent looks up the regions of which its own look-ups tell nothing. */
  readonly refreshAtJoin: boolean;
  /** Shortest and longest time of one message. */
  readonly latencyMs: readonly [number, number];
}

/** `concurrency`, `bucketSize` and `refreshMs` are those of the paper. */
export const networkDefaults: NetworkOptions = {
  seed: 1,
  ids: 8,
  bucketSize: 20,
  concurrency: 3,
  timeoutMs: 1000,
  pingTimeoutMs: 1000,
  pingAfterMs: 60_000,
  refreshMs: 3_600_000,
  refreshAtJoin: true,
  latencyMs: [10, 100],
};

interface Node {
  readonly contact: Contact;
  readonly identifiers: readonly Key[];
  readonly table: RoutingTable;
  alive: boolean;
  /** Its own identifiers have been looked up. */
  joined: boolean;
}

/** One look-up, judged against all agents that had joined before it and survived it. */
export interface Judged {
  readonly found: NearestFound;
  /** No such agent is nearer than the first one found. */
  readonly isNearest: boolean;
  readonly tookMs: number;
}

export class KademliaNetwork {
  readonly random: Random;
  readonly judged: Judged[] = [];
  messages = 0;
  now = 0;
  readonly #o: NetworkOptions;
  readonly #nodes = new Map<string, Node>();
  /** What happens in each millisecond to come. */
  readonly #events = new Map<number, (() => void)[]>();
  readonly #identifiers = new Map<string, readonly Key[]>();
  #named = 0;

  constructor(options: NetworkOptions) {
    this.#o = options;
    this.random = new Random(options.seed);
  }

  /** Agents that have joined and are alive. */
  get members(): Node[] {
    return [...this.#nodes.values()].filter(({ alive, joined }) => alive && joined);
  }

  at(ms: number, event: () => void): void {
    const time = Math.max(this.now + 1, Math.ceil(ms));
    const events = this.#events.get(time);
    if (events === undefined) this.#events.set(time, [event]);
    else events.push(event);
  }

  runUntil(ms: number): void {
    while (this.now < ms) {
      this.now++;
      const events = this.#events.get(this.now) ?? [];
      this.#events.delete(this.now);
      for (const event of events) event();
    }
  }

  /** Starts a new agent, which knows one member at random. */
  start(): void {
    const contact = { id: `a${++this.#named}`, address: `host${this.#named}:1`, capacity: 1 };
    const options = { ...this.#o, self: contact, identifiersOf: this.#identifiersOf };
    const identifiers = this.#identifiersOf(contact);
    const table = new RoutingTable(options);
    const node: Node = { contact, identifiers, table, alive: true, joined: false };
    const members = this.members;
    this.#nodes.set(contact.id, node);
    if (members.length === 0) {
      node.joined = true;
      this.#tick(node);
    } else {
      this.#join(node, [this.random.pick(members).contact], [...identifiers]);
    }
  }

  /** An agent stops without a word. */
  kill(node: Node): void {
    node.alive = false;
    this.#nodes.delete(node.contact.id);
  }

  /** A member looks up a random key, and the result is judged. */
  tryLookup(from: Node): void {
    const key = randomKeyIn({ bits: 0n, length: 0 }, () => this.random.next());
    const before = this.members;
    const startMs = this.now;
    this.#lookUp(from, key, [], (found) => {
      const distance = (node: Node) => distanceTo(key, node.identifiers);
      const nearest = before
        .filter((node) => node.alive && node !== from)
        .map(distance)
        .reduce((a, b) => (a < b ? a : b));
      const first = found.nearest[0];
      const isNearest =
        first !== undefined && distanceTo(key, this.#identifiersOf(first)) <= nearest;
      this.judged.push({ found, isNearest, tookMs: this.now - startMs });
    });
  }

  readonly #identifiersOf = (agent: RingMember): readonly Key[] => {
    let identifiers = this.#identifiers.get(agent.id);
    if (identifiers === undefined) {
      identifiers = identifiersOf(agent, { sha1, ids: this.#o.ids });
      this.#identifiers.set(agent.id, identifiers);
    }
    return identifiers;
  };

  /** Looks up the identifiers of the agent, one after the other. */
  #join(node: Node, entry: readonly Contact[], rest: Key[]): void {
    const key = rest.pop();
    if (key === undefined) {
      node.joined = true;
      if (!this.#o.refreshAtJoin) node.table.refreshes(this.now, () => this.random.next());
      this.#tick(node);
      return;
    }
    this.#lookUp(node, key, entry, () => this.#join(node, entry, rest));
  }

  /** Once a second an agent pings and refreshes what is due. */
  #tick(node: Node): void {
    if (!node.alive) return;
    for (const to of node.table.pings(this.now)) {
      this.#send(node, to, (there) => this.#send(there, node.contact, () => {}));
    }
    for (const key of node.table.refreshes(this.now, () => this.random.next())) {
      this.#lookUp(node, key, [], () => {});
    }
    this.at(this.now + 1000, () => this.#tick(node));
  }

  /** Delivers a message if the receiver is alive then; the receiver has seen the sender. */
  #send(from: Node, to: Contact, receive: (there: Node) => void): void {
    this.messages++;
    this.at(this.now + this.random.between(...this.#o.latencyMs), () => {
      const there = this.#nodes.get(to.id);
      if (there === undefined) return;
      there.table.seen(from.contact, this.now);
      receive(there);
    });
  }

  #lookUp(
    node: Node,
    key: Key,
    entry: readonly Contact[],
    done: (found: NearestFound) => void,
  ): void {
    const known = node.table.closest(key, this.#o.bucketSize, false);
    const start = known.length > 0 ? known : entry;
    const self = node.contact.id;
    const options = { ...this.#o, key, start, self, identifiersOf: this.#identifiersOf };
    const lookup = new Lookup({ ...options, purpose: 'node' });
    let ended = false;
    const pump = (): void => {
      if (!node.alive || ended) return;
      const { asks, failed } = lookup.next(this.now);
      for (const contact of failed) node.table.failed(contact);
      for (const to of asks) {
        this.#send(node, to, (there) => {
          const named = there.table.closest(key, this.#o.bucketSize, false);
          this.#send(there, node.contact, () => {
            lookup.answered(there.contact, named);
            pump();
          });
        });
      }
      if (asks.length > 0) this.at(this.now + this.#o.timeoutMs, pump);
      if (lookup.result?.kind !== 'nearest') return;
      ended = true;
      node.table.lookedUp(key, this.now);
      done(lookup.result);
    };
    pump();
  }
}

export interface ChurnOptions extends NetworkOptions {
  readonly agents: number;
  /** Share of the agents that are replaced in a minute. */
  readonly replacedPerMinute: number;
  readonly minutes: number;
  readonly lookupsPerMinute: number;
}

export interface ChurnFigures {
  readonly lookups: number;
  readonly nearest: number;
  readonly hopsMax: number;
  readonly hopsMean: number;
  readonly messagesMean: number;
  readonly tookMeanMs: number;
  /** All messages of an agent in a second, those of look-ups, pings and joins included. */
  readonly messagesPerAgentSecond: number;
}

/** Builds a network by joins, then replaces agents while members look up random keys. */
export function lookupsUnderChurn(options: ChurnOptions): ChurnFigures {
  const network = grown(options);
  const { agents, minutes, replacedPerMinute, lookupsPerMinute } = options;
  const fromMs = network.now;
  const untilMs = fromMs + minutes * 60_000;
  const messagesBefore = network.messages;
  const repeat = (perMinute: number, event: () => void): void => {
    if (perMinute === 0) return;
    for (let ms = fromMs; ms < untilMs; ms += 60_000 / perMinute) network.at(ms, event);
  };
  repeat(agents * replacedPerMinute, () => {
    network.kill(network.random.pick(network.members));
    network.start();
  });
  repeat(lookupsPerMinute, () => network.tryLookup(network.random.pick(network.members)));
  network.runUntil(untilMs + 20_000);
  const { judged } = network;
  const mean = (of: (each: Judged) => number): number =>
    judged.reduce((sum, each) => sum + of(each), 0) / judged.length;
  return {
    lookups: judged.length,
    nearest: judged.filter(({ isNearest }) => isNearest).length,
    hopsMax: Math.max(...judged.map(({ found }) => found.hops)),
    hopsMean: mean(({ found }) => found.hops),
    messagesMean: mean(({ found }) => found.messages),
    tookMeanMs: mean(({ tookMs }) => tookMs),
    messagesPerAgentSecond:
      (network.messages - messagesBefore) / agents / ((network.now - fromMs) / 1000),
  };
}

/** A network in which all agents have joined, one after the other. */
export function grown(options: NetworkOptions & { readonly agents: number }): KademliaNetwork {
  const network = new KademliaNetwork(options);
  for (let i = 0; i < options.agents; i++) network.at(i * 100, () => network.start());
  network.runUntil(options.agents * 100 + 20_000);
  return network;
}
