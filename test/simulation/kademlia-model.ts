// A model of the membership of the Kademlia overlay (docs/OVERLAY.md): agents that join, leave and
// crash, messages that are late or lost, and no hosts. Each agent decides with the product's
// `Neighbourhood`. The checkers compare what the agents decide with the truth.

import { createHash } from 'node:crypto';
import { distanceTo } from '../../agent/kademlia/routing/contact.ts';
import { commonPrefix, identifiersOf, type Key, keyOf } from '../../assignment/identifiers.ts';
import {
  BEAT_MS,
  type Card,
  ModelAgent,
  type ModelOptions,
  type Sent,
  type World,
} from './kademlia-model-agent.ts';
import { Random } from './random.ts';

const sha1 = (text: string) => createHash('sha1').update(text).digest();

/** Virtual milliseconds. */
const STEP_MS = 10;

class Model implements World {
  readonly options: ModelOptions;
  readonly random: Random;
  /** Has its own source, so that other runs do not change. */
  readonly #draining: Random;
  readonly common: number[][] = [];
  readonly problems: string[] = [];
  readonly #agents = new Map<string, ModelAgent>();
  readonly #flying = new Map<number, Sent[]>();
  #now = 0;
  readonly #keys: Key[] = [];
  readonly #hosts: Key[];
  readonly #lists = new Map<
    string,
    { state: string; lists: ReadonlyMap<number, readonly string[]> }
  >();

  /** Lists computed so far, and the state in which they were last checked. */
  #computed = 0;
  #checked = '';

  constructor(options: ModelOptions) {
    this.options = options;
    this.random = new Random(options.seed);
    this.#draining = new Random(options.seed * 7 + 3);
    this.#hosts = Array.from({ length: 60 }, (_, i) => keyOf(`h${options.seed}-${i}`, sha1));
  }

  send(sent: Sent): void {
    if (this.random.chance(this.options.loss)) return;
    const at = this.#now + this.random.whole(1, 4) * STEP_MS;
    const then = this.#flying.get(at);
    if (then) then.push(sent);
    else this.#flying.set(at, [sent]);
  }

  get live(): ModelAgent[] {
    return [...this.#agents.values()].filter(({ isAlive }) => isAlive);
  }

  get joined(): ModelAgent[] {
    return this.live.filter(({ hood }) => hood.joined);
  }

  /** Starts agents that know one member, or none if they are the first. */
  start(count = 1): void {
    for (let i = 0; i < count; i++) {
      const card = this.#newCard();
      const agent = new ModelAgent(this, card, this.live.length === 0, this.#now);
      this.#agents.set(card.id, agent);
      this.meet(agent);
    }
  }

  meet(agent: ModelAgent): void {
    const others = (of: ModelAgent[]) => of.filter((one) => one !== agent);
    const pool = [others(this.joined), others(this.live)].find(({ length }) => length > 0);
    if (!pool) return;
    const contact = this.random.pick(pool);
    agent.note(contact.card);
    for (const card of this.#lookUp(agent, contact)) agent.note(card);
    // A drained agent is no contact.
    for (const card of new Set([contact.card, ...agent.contacts.values()])) {
      if (agent.hood.named(card.id, card.identifiers)) {
        agent.named.set(card.id, { card, since: this.#now });
      }
    }
  }

  #newCard(): Card {
    const id = `a${this.#agents.size}`;
    const identifiers = identifiersOf({ id, capacity: 1 }, { sha1, ids: this.options.ids });
    const numbers = identifiers.map((key) => {
      this.#keys.push(key);
      const row = this.#keys.map((other) => commonPrefix(key, other));
      for (const [i, level] of row.entries()) this.common[i]?.push(level);
      return this.common.push(row) - 1;
    });
    const drained = this.#draining.chance(this.options.drained);
    return { id, identifiers, numbers, drained };
  }

  /** A preference list: drained agents are last in it, and own nothing. */
  #listed(order: readonly string[]): string[] {
    const isDrained = (id: string) => this.#agents.get(id)!.card.drained;
    const takers = order.filter((id) => !isDrained(id));
    return takers.length === 0 ? [] : [...takers, ...order.filter(isDrained)];
  }

  /** Stands for the look-ups of its own identifiers: contacts near each, found through contacts. */
  #lookUp(agent: ModelAgent, contact: ModelAgent): Card[] {
    const found = new Map<string, Card>();
    for (const key of agent.card.identifiers) {
      const seen = new Map([[contact.card.id, contact.card]]);
      const asked = new Set<string>();
      for (;;) {
        const takers = [...seen.values()].filter(({ drained }) => !drained);
        const near = nearestTo(key, takers.length > 0 ? takers : seen.values());
        near.splice(this.options.found);
        const next = near.find(({ id }) => !asked.has(id));
        if (!next) {
          for (const card of near) found.set(card.id, card);
          break;
        }
        asked.add(next.id);
        const other = this.#agents.get(next.id);
        if (!other?.isAlive) {
          seen.delete(next.id);
          continue;
        }
        for (const one of other.known().values()) seen.set(one.id, one);
      }
    }
    return [...found.values()];
  }

  run(ms: number): void {
    const until = this.#now + ms;
    while (this.#now < until) {
      this.#now += STEP_MS;
      const due = this.#flying.get(this.#now) ?? [];
      this.#flying.delete(this.#now);
      for (const sent of due) {
        const agent = this.#agents.get(sent.to);
        if (agent?.isAlive) agent.receive(sent, this.#now);
      }
      for (const agent of this.live) agent.step(this.#now);
      if (this.#now % (BEAT_MS / 2) === 0) this.#checkClaims();
    }
  }

  /** By host, the list that an agent decides by; computed again only after a change. */
  #listsOf({ hood, card, contacts }: ModelAgent): ReadonlyMap<number, readonly string[]> {
    const state = `${hood.changes} ${[...contacts.keys()].join()}`;
    const kept = this.#lists.get(card.id);
    if (kept?.state === state) return kept.lists;
    const lists = new Map<number, readonly string[]>();
    this.#computed++;
    const places = hood.places();
    for (const [i, host] of this.#hosts.entries()) {
      const place = hood.joined ? places.of(host) : null;
      if (place?.kind === 'known') lists.set(i, this.#listed(place.order));
    }
    this.#lists.set(card.id, { state, lists });
    return lists;
  }

  /**
   * No two live agents may decide that they own the same host. The owner and the agent that would
   * take the host over from it agree on that: otherwise the lease comes from the wrong one.
   */
  #checkClaims(): void {
    const joined = new Map(this.joined.map((agent) => [agent.card.id, this.#listsOf(agent)]));
    const state = [...joined.keys(), this.#computed].join();
    if (state === this.#checked) return;
    this.#checked = state;
    const owners = new Map<number, string>();
    for (const [id, lists] of joined) {
      for (const [host, order] of lists) {
        if (order[0] !== id) continue;
        const other = owners.get(host);
        if (other) this.#report(`at ${this.#now} ms ${other} and ${id} own host ${host}`);
        owners.set(host, id);
      }
    }
    for (const [host, owner] of owners) {
      const [, grantor] = joined.get(owner)!.get(host)!;
      // A crashed one grants nothing, so the owner has no lease.
      if (grantor !== undefined && !joined.has(grantor)) continue;
      const follower = this.#followerOf(owner, host);
      const [first, second] = joined.get(follower)?.get(host) ?? [];
      if (first !== owner || second !== follower || grantor === follower) continue;
      this.#report(
        `at ${this.#now} ms ${grantor}, not ${follower}, follows ${owner}, host ${host}`,
      );
    }
  }

  /** The joined agent that is nearest to a host, except its owner. */
  #followerOf(owner: string, host: number): string {
    const others = this.joined.filter(({ card }) => card.id !== owner).map(({ card }) => card);
    const takers = others.filter(({ drained }) => !drained);
    return nearestTo(this.#hosts[host]!, takers.length > 0 ? takers : others)[0]?.id ?? '';
  }

  /** After a quiet time the nearest agent decides for each host, and knows the next ones. */
  checkRest(): void {
    const live = this.live;
    const decides = Math.min(this.options.backups + 2, live.length);
    for (const agent of live) {
      if (!agent.hood.joined) this.#report(`${agent.card.id} has not joined`);
    }
    const places = new Map(live.map(({ card, hood }) => [card.id, hood.places()]));
    const cards = live.map(({ card }) => card);
    for (const [i, host] of this.#hosts.entries()) {
      const truth = this.#listed(nearestTo(host, cards).map(({ id }) => id)).slice(0, decides);
      for (const id of truth) {
        const place = places.get(id)!.of(host);
        const isKnown = place.kind === 'known';
        const order = isKnown ? this.#listed(place.order).slice(0, decides) : [place.kind];
        if (order.join() === truth.join()) continue;
        this.#report(`${id} has ${order.join()} for host ${i}, not ${truth.join()}`);
      }
    }
  }

  #report(problem: string): void {
    if (this.problems.length < 5) this.problems.push(problem);
  }

  /** Members of each live agent. */
  neighbours(): number[] {
    return this.live.map(({ heard }) => heard.size);
  }
}

function nearestTo(key: Key, cards: Iterable<Card>): Card[] {
  return [...cards]
    .map((card) => ({ card, distance: distanceTo(key, card.identifiers) }))
    .sort((a, b) => (a.distance < b.distance ? -1 : 1))
    .map(({ card }) => card);
}

/** A small cluster in which agents come and go. */
export const calm: Omit<ModelOptions, 'seed'> = {
  ...{ agents: 12, ids: 1, size: 5, backups: 2, loss: 0.1, drained: 0, found: 1 },
  ...{ events: 8, joins: 3, crashes: 2, suspectMs: 1000, patienceMs: 1000 },
};

/** More agents crash at once than a cluster must survive without loss; nobody decides wrongly. */
export const rough: Omit<ModelOptions, 'seed'> = {
  ...{ ...calm, agents: 10, events: 12, crashes: 5, joins: 4, loss: 0.15 },
};

/** Runs a schedule of joins, leaves and crashes; returns what the checkers found. */
export function runModel(options: ModelOptions): Model {
  const model = new Model(options);
  const { random } = model;
  for (let started = 0; started < options.agents; ) {
    const together = Math.min(random.whole(1, options.joins), options.agents - started);
    model.start(together);
    started += together;
    model.run(random.whole(1, 30) * 100);
  }
  model.run(5 * options.suspectMs);
  for (let event = 0; event < options.events; event++) {
    const what = random.next();
    if (what < 0.45 || model.joined.length < options.backups + 2) {
      model.start(random.whole(1, options.joins));
      model.run(random.whole(1, 30) * 100);
    } else if (what < 0.6) {
      random.pick(model.joined).leave();
      model.run(random.whole(1, 30) * 100);
    } else {
      for (let left = random.whole(1, options.crashes); left > 0; left--) {
        if (model.joined.length > 1) random.pick(model.joined).isAlive = false;
      }
      model.run(random.whole(10, 60) * 50);
    }
  }
  model.run(12 * options.suspectMs + 2 * options.patienceMs);
  model.checkRest();
  return model;
}
