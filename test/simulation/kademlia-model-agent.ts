// One agent of the model of the membership (kademlia-model.ts). It decides with the product's
// `Neighbourhood`; its messages are those of the protocol without leases, lists and hosts. Each rule
// of docs/OVERLAY.md can be left out, to show that the checkers notice its absence.

import type { Neighbour } from '../../agent/kademlia/neighbourhood/known-places.ts';
import {
  Neighbourhood,
  type RegionAnswer,
} from '../../agent/kademlia/neighbourhood/neighbourhood.ts';
import {
  distanceTo,
  hasAny,
  type Prefix,
  prefixOf,
  siblingOf,
} from '../../agent/kademlia/routing/contact.ts';
import type { Key } from '../../assignment/identifiers.ts';
import type { Random } from './random.ts';

/** Virtual milliseconds. */
export const BEAT_MS = 100;

/** A rule of the protocol that a run leaves out, to show that the checkers notice it. */
export type Omission =
  /** A region is complete when one of its members has answered. */
  | 'one-answer'
  /** A region does not wait for the agents that its members name or that are contacts. */
  | 'ignore-named'
  /** An agent joins although its regions are not complete. */
  | 'no-barrier'
  /** Heartbeats do not name the sender's members in the receiver's regions. */
  | 'no-news'
  /** A level beside the path counts as empty when this agent knows nobody there. */
  | 'doubt-is-empty'
  /** A member is not watched any more although it needs this agent. */
  | 'drop-needed'
  /** Contacts beside the path are dropped after the join. */
  | 'forget-contacts'
  /** An agent decides with any number of joined members. */
  | 'narrow-decides'
  /** Named agents that do not answer are waited for. */
  | 'no-expiry';

export interface ModelOptions {
  readonly seed: number;
  readonly agents: number;
  readonly ids: number;
  readonly size: number;
  readonly backups: number;
  /** Share of the messages that are lost. */
  readonly loss: number;
  /** Number of joins, leaves and crashes, one after the other or several at once. */
  readonly events: number;
  /** Largest number of agents that join at once. */
  readonly joins: number;
  /** Largest number of agents that crash at once. */
  readonly crashes: number;
  /** Share of the agents that take no hosts. */
  readonly drained: number;
  /** Agents that a look-up finds: as few as one, because look-ups need not be right. */
  readonly found: number;
  /** An agent that is silent for so long counts as crashed. It must not happen by loss alone. */
  readonly suspectMs: number;
  /** Each agent notices a crash up to so much later, at its own time. */
  readonly patienceMs: number;
  readonly omit?: Omission;
}

export interface Card {
  readonly id: string;
  readonly identifiers: readonly Key[];
  readonly drained: boolean;
  /** The numbers of its identifiers in the model's table of common prefixes. */
  readonly numbers: readonly number[];
}

type Message =
  | { readonly type: 'hello' }
  | { readonly type: 'beat'; readonly needs: boolean; readonly news: readonly Card[] }
  | { readonly type: 'find'; readonly region: Prefix }
  | {
      readonly type: 'found';
      readonly region: Prefix;
      readonly inside: readonly Card[];
      readonly beside: readonly Card[];
      readonly answer: RegionAnswer;
    }
  | { readonly type: 'ping' }
  | { readonly type: 'pong' }
  | { readonly type: 'leave' };

/** A member, as its last message described it. */
export type Described = Neighbour & Card;

export interface Sent {
  readonly from: Described;
  readonly to: string;
  readonly message: Message;
}

/** What an agent needs of the model. */
export interface World {
  readonly options: ModelOptions;
  readonly random: Random;
  /** Number of leading bits that two identifiers have in common, by their numbers. */
  readonly common: readonly (readonly number[])[];
  send(sent: Sent): void;
  /** The agent finds members, as one with endpoints in its config does. */
  meet(agent: ModelAgent): void;
}

/** A member. */
interface Heard {
  card: Card;
  at: number;
  needsMe: boolean;
}

/** Contacts kept for each region beside a path, as a k-bucket does. */
const BUCKET = 3;
const NAMES_MAX = 40;

export class ModelAgent {
  readonly card: Card;
  readonly hood: Neighbourhood;
  readonly contacts = new Map<string, Card>();
  readonly heard = new Map<string, Heard>();
  readonly named = new Map<string, { card: Card; since: number }>();
  /** Contacts, and agents that others named as such, from which an answer is awaited. */
  readonly #pinged = new Map<string, { card: Card; since: number }>();
  readonly #world: World;
  readonly #bornAt: number;
  /** The first agent of a cluster joins alone; all others have met a member. */
  readonly #isFirst: boolean;
  readonly #suspectMs: number;
  /** The regions about which somebody has answered, with the answer. */
  readonly #answers = new Map<string, RegionAnswer>();
  #beatAt: number;
  #self: { changes: number; is: Described } | null = null;
  isAlive = true;

  constructor(world: World, card: Card, isFirst: boolean, now: number) {
    this.#isFirst = isFirst;
    this.#world = world;
    this.card = card;
    this.#bornAt = now;
    this.#beatAt = now + world.random.between(0, BEAT_MS);
    const { size, backups, suspectMs, patienceMs, omit } = world.options;
    this.#suspectMs = suspectMs + world.random.between(0, patienceMs);
    this.hood = new Neighbourhood(
      card,
      { size, decides: omit === 'narrow-decides' ? 1 : backups + 2 },
      { hasIn: (region) => this.#hasContactIn(region) },
    );
  }

  #hasContactIn(region: Prefix): boolean {
    if (this.#world.options.omit === 'forget-contacts' && this.hood.joined) return false;
    for (const { identifiers } of this.contacts.values()) {
      if (hasAny(identifiers, region)) return true;
    }
    for (const { card } of this.#pinged.values()) {
      if (hasAny(card.identifiers, region)) return true;
    }
    return false;
  }

  get #described(): Described {
    const { changes } = this.hood;
    if (this.#self?.changes !== changes) {
      const { joined } = this.hood;
      const [regions, complete] = [this.hood.regions(), this.hood.completeRegions()];
      const is = { ...this.card, joined, regions, complete };
      this.#self = { changes, is };
    }
    return this.#self.is;
  }

  #send(to: string, message: Message): void {
    this.#world.send({ from: this.#described, to, message });
  }

  /** Keeps a contact if the region beside a path has room for it. */
  note(card: Card): void {
    if (card.drained || card.id === this.card.id || this.contacts.has(card.id)) return;
    if (this.#hasRoom(card)) this.contacts.set(card.id, card);
  }

  /** Another agent knows a contact, which may have crashed since. */
  #hearOf(card: Card, now: number): void {
    const { id } = card;
    if (card.drained || id === this.card.id) return;
    if (this.contacts.has(id) || this.#pinged.has(id)) return;
    if (!this.hood.has(id) && this.#hasRoom(card)) this.#pinged.set(id, { card, since: now });
  }

  #hasRoom(card: Card): boolean {
    const { common } = this.#world;
    return this.card.numbers.some((mine) =>
      card.numbers.some((one) => {
        let inside = 0;
        const level = common[mine]![one]!;
        for (const { numbers } of this.contacts.values()) {
          if (numbers.some((other) => common[mine]![other] === level)) inside++;
        }
        return inside < BUCKET;
      }),
    );
  }

  receive({ from, message }: Sent, now: number): void {
    switch (message.type) {
      case 'hello':
        this.#add(from, now);
        return this.#beatTo(from.id);
      case 'beat':
        return this.#hear(from, message, now);
      case 'find':
        return this.#tell(from, message.region);
      case 'found': {
        for (const card of [...message.beside, ...message.inside]) this.#hearOf(card, now);
        if (this.#world.options.omit !== 'ignore-named') {
          for (const card of message.inside) this.#name(card, now);
        }
        return this.#answered(from.id, message.region, message.answer);
      }
      case 'ping':
        return this.#send(from.id, { type: 'pong' });
      case 'pong':
        this.#pinged.delete(from.id);
        return this.note(from);
      case 'leave':
        this.contacts.delete(from.id);
        return this.#remove(from.id);
    }
  }

  #hear(
    from: Described,
    { needs, news }: { readonly needs: boolean; readonly news: readonly Card[] },
    now: number,
  ): void {
    if (this.hood.has(from.id) || needs || this.hood.needs(from.identifiers)) this.#add(from, now);
    const heard = this.heard.get(from.id);
    if (heard) heard.needsMe = needs;
    else this.note(from);
    if (this.#world.options.omit === 'no-news') return;
    for (const card of news) this.#name(card, now);
  }

  #tell(to: Described, region: Prefix): void {
    const all = [...this.known().values()].filter(({ id }) => id !== to.id);
    const inside = all
      .filter(({ identifiers }) => hasAny(identifiers, region))
      .map((card) => ({ card, distance: distanceTo(region.bits, card.identifiers) }))
      .sort((a, b) => (a.distance < b.distance ? -1 : 1))
      .slice(0, NAMES_MAX)
      .map(({ card }) => card);
    const beside: Card[] = [];
    for (let level = 0; level < region.length; level++) {
      const sibling = siblingOf(region.bits, level);
      beside.push(...all.filter((one) => hasAny(one.identifiers, sibling)).slice(0, 2));
    }
    const answer = this.hood.answerFor(region);
    this.#send(to.id, { type: 'found', region, inside, beside, answer });
  }

  #answered(id: string, region: Prefix, answer: RegionAnswer): void {
    this.#answers.set(nameOf(region), answer);
    this.hood.answered(id, region, answer);
  }

  /** Answers in the place of others. */
  #takeForAnswered(): void {
    const { omit } = this.#world.options;
    if (omit === 'one-answer') {
      for (const { to, region } of this.hood.questions()) {
        const answer = this.#answers.get(nameOf(region));
        if (answer) this.hood.answered(to, region, answer);
      }
      this.#answers.clear();
    }
    if (omit === 'doubt-is-empty' && this.hood.joined) {
      const known = new Set(
        this.hood.ledPaths().map(({ key, length }) => nameOf(prefixOf(key, length))),
      );
      for (const { to, region } of this.hood.questions()) {
        if (!known.has(nameOf(region))) continue;
        this.hood.answered(to, region, { empty: Array(region.length).fill(true) });
      }
    }
  }

  /** The members and contacts. */
  known(): Map<string, Card> {
    const known = new Map(this.contacts);
    for (const [id, { card }] of this.heard) known.set(id, card);
    return known;
  }

  #name(card: Card, now: number): void {
    if (!this.hood.named(card.id, card.identifiers)) return;
    if (this.named.has(card.id)) return;
    this.named.set(card.id, { card, since: now });
    this.#send(card.id, { type: 'hello' });
  }

  #add(from: Described, now: number): void {
    const heard = this.heard.get(from.id);
    if (heard) heard.at = now;
    else this.heard.set(from.id, { card: from, at: now, needsMe: true });
    this.named.delete(from.id);
    this.hood.put(from);
  }

  #remove(id: string): void {
    this.heard.delete(id);
    this.hood.remove(id);
  }

  #beatTo(id: string): void {
    const to = this.hood.get(id);
    if (!to) return;
    const { numbers } = this.heard.get(id)!.card;
    const { common } = this.#world;
    const concerns = (one: Card) =>
      numbers.some((n, i) => one.numbers.some((m) => common[n]![m]! >= (to.regions[i] ?? 0)));
    const news: Card[] = [];
    for (const { card } of this.heard.values()) {
      if (card.id !== id && concerns(card)) news.push(card);
    }
    this.#send(id, { type: 'beat', needs: this.hood.needs(to.identifiers), news });
  }

  step(now: number): void {
    if (now < this.#beatAt) return;
    this.#beatAt = now + BEAT_MS;
    this.#partWithSpare(now);
    for (const [id, { card, since }] of [...this.named]) {
      if (!this.hood.needs(card.identifiers) || now - since >= this.#world.options.suspectMs) {
        this.contacts.delete(id);
        this.named.delete(id);
        if (this.#world.options.omit !== 'no-expiry') this.hood.expire(id);
      } else this.#send(id, { type: 'hello' });
    }
    for (const id of this.heard.keys()) this.#beatTo(id);
    for (const { to, region } of this.hood.questions()) this.#send(to, { type: 'find', region });
    if (this.heard.size === 0 && this.named.size === 0) this.#world.meet(this);
    this.#ping(now);
    this.#refresh();
    this.#nameContacts(now);
    this.#takeForAnswered();
    this.hood.settle();
    if (!this.hood.joined && this.#mayJoin(now)) this.hood.join();
  }

  #partWithSpare(now: number): void {
    for (const [id, { card, at, needsMe }] of [...this.heard]) {
      const member = this.hood.get(id)!;
      if (now - at >= this.#suspectMs) {
        this.contacts.delete(id);
        this.#remove(id);
      } else if (!this.hood.needs(member.identifiers) && this.#mayDrop(member, needsMe)) {
        this.note(card);
        this.#remove(id);
      }
    }
  }

  #mayDrop(member: Neighbour, needsMe: boolean): boolean {
    if (this.#world.options.omit === 'drop-needed') return true;
    return !needsMe && !this.hood.isNeededBy(member);
  }

  /** Asks contacts that are no members, and drops those that have not answered. */
  #ping(now: number): void {
    for (const [id, { since }] of [...this.#pinged]) {
      if (now - since < this.#world.options.suspectMs) continue;
      this.#pinged.delete(id);
      this.contacts.delete(id);
    }
    for (const [id, card] of this.contacts) {
      if (this.hood.has(id) || this.#pinged.has(id) || !this.#world.random.chance(0.2)) continue;
      this.#pinged.set(id, { card, since: now });
    }
    for (const id of this.#pinged.keys()) this.#send(id, { type: 'ping' });
  }

  #nameContacts(now: number): void {
    if (!this.hood.joined || this.#world.options.omit === 'ignore-named') return;
    for (const region of this.hood.learning()) {
      for (const card of this.contacts.values()) {
        if (hasAny(card.identifiers, region)) this.#name(card, now);
      }
    }
  }

  /** Asks a contact for others of its subtree, as the look-ups of hosts do all the time. */
  #refresh(): void {
    const { random, common } = this.#world;
    if (this.contacts.size === 0 || !random.chance(0.3)) return;
    const { id, numbers } = random.pick([...this.contacts.values()]);
    const at = random.whole(0, this.card.numbers.length - 1);
    const level = common[this.card.numbers[at]!]![random.pick(numbers)]!;
    this.#send(id, { type: 'find', region: siblingOf(this.card.identifiers[at]!, level) });
  }

  #mayJoin(now: number): boolean {
    if (this.#world.options.omit === 'no-barrier') return now - this.#bornAt > 3 * BEAT_MS;
    if (this.named.size > 0) return false;
    const isAlone = ![...this.hood.members()].some(({ joined }) => joined);
    if (isAlone && !this.#isFirst) return false;
    return this.hood.isComplete;
  }

  /** Tells its members that it leaves. */
  leave(): void {
    for (const id of this.heard.keys()) this.#send(id, { type: 'leave' });
    this.isAlive = false;
  }
}

function nameOf({ bits, length }: Prefix): string {
  return `${bits}/${length}`;
}
