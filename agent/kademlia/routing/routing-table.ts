// The routing table of one agent: k-buckets whose regions partition the key space (Maymounkov and
// Mazières 2002, section 2.4). It begins as one bucket. A full bucket splits if its region contains
// an identifier of this agent, so the table knows much of the regions near its identifiers and
// little of the rest. The table does no I/O: it says whom to ping and which keys to look up. Only
// messages of an agent itself bring the agent into the table, so nobody can fill it with names.

import { KEY_BITS, type Key } from '../../../assignment/identifiers.ts';
import { Bucket, type SeenAgent } from './bucket.ts';
import {
  type Contact,
  distanceTo,
  hasAny,
  type IdentifiersOf,
  isDrained,
  isIn,
  type Prefix,
  prefixOf,
  randomKeyIn,
} from './contact.ts';
import { IdentifierIndex } from './identifier-index.ts';

export interface RoutingTableOptions {
  readonly self: Contact;
  readonly identifiersOf: IdentifiersOf;
  /** Contacts of one bucket, and as many that wait: *k* in the paper. */
  readonly bucketSize: number;
  /** A ping that is not answered for so long shows that its agent has failed. */
  readonly pingTimeoutMs: number;
  /** A contact seen less than this ago is not pinged; 0: the rule of the paper. */
  readonly pingAfterMs: number;
  /** A region in which no key was looked up for so long is to be refreshed. */
  readonly refreshMs: number;
}

/** Agents of one region that are pinged at a time. */
const VERIFIED_MAX = 64;
/**
 * Up to this many contacts for each one to name, all are compared. A walk by distance would pass
 * thousands of identifiers of one large agent before it had found so large a part of the contacts.
 */
const COMPARED_FACTOR = 4;
/** The first ping is sent at most two time-outs after the agent was seen. */
const SILENT_TIMEOUTS = 2.5;

/** All times are monotonic and must not fall. */
export class RoutingTable {
  readonly #o: RoutingTableOptions;
  #self: Contact;
  #own: readonly Key[];
  /**
   * In the order of their regions. A split adds one. Bound: 160 for each own identifier, and one;
   * about log2(agents / bucketSize) for each in practice.
   */
  readonly #buckets: Bucket[];
  /** Every agent in a bucket, as contact or waiting. Bound: 2 × bucketSize for each bucket. */
  readonly #agents = new Map<string, SeenAgent>();
  /** The contacts. */
  readonly #index = new IdentifierIndex<SeenAgent>();
  /**
   * Agents to ping, and when the ping was sent; null: not yet. Filled when a full bucket meets a
   * new agent, by `named` and by `verify`, emptied by `seen` and `failed`. Bound: the number of
   * agents; a full bucket has one at a time, because its least recently seen contact changes only
   * when that is answered.
   */
  readonly #pings = new Map<string, number | null>();

  /** Every region is due for a refresh, except where own identifiers are looked up first. */
  constructor(options: RoutingTableOptions) {
    this.#o = options;
    this.#self = options.self;
    this.#own = options.identifiersOf(options.self);
    this.#buckets = [new Bucket(prefixOf(0n, 0), options.bucketSize, Number.NEGATIVE_INFINITY)];
  }

  /** This agent has another capacity. The look-ups of its identifiers fill the buckets near them. */
  becomes(self: Contact): void {
    this.#self = self;
    this.#own = this.#o.identifiersOf(self);
  }

  /**
   * A message of the agent itself has arrived: a request, or an answer to one, also to a ping. One
   * that is drained does not become a contact.
   */
  seen(contact: Contact, now: number): void {
    if (contact.id === this.#self.id) return;
    if (isDrained(contact)) return this.forget(contact.id);
    const known = this.#agents.get(contact.id);
    if (known !== undefined && known.contact.capacity !== contact.capacity) {
      // It has other identifiers now.
      this.failed(known.contact);
    }
    this.#pings.delete(contact.id);
    const agent = this.#agents.get(contact.id) ?? {
      contact,
      identifiers: this.#o.identifiersOf(contact),
      seenMs: now,
      contactIn: 0,
      waitingIn: 0,
    };
    agent.contact = contact;
    agent.seenMs = now;
    const wasContact = agent.contactIn > 0;
    for (const bucket of this.#bucketsOf(agent)) this.#offer(bucket, agent, now);
    this.#agents.set(contact.id, agent);
    if (!wasContact) this.#indexed(agent);
  }

  /**
   * The agent does not answer at this address, or has left. No effect if it was last seen at
   * another address: then the address that failed was named by somebody else.
   */
  failed({ id, address }: Pick<Contact, 'id' | 'address'>): void {
    const agent = this.#agents.get(id);
    if (agent === undefined || agent.contact.address !== address) return;
    for (const bucket of this.#bucketsOf(agent)) {
      const promoted = bucket.delete(agent);
      if (promoted?.contactIn === 1) this.#indexed(promoted);
    }
    this.#index.delete(id, agent.identifiers);
    this.#agents.delete(id);
    this.#pings.delete(id);
  }

  /** Removes an agent although it may be running. */
  forget(id: string): void {
    const agent = this.#agents.get(id);
    if (agent) this.failed(agent.contact);
  }

  /**
   * Pings the contact of the region that was seen last if that is a time-out ago, and all agents
   * there if it does not answer: either one of them does, or all are gone.
   *
   * Called once in a time-out.
   */
  verify(region: Prefix, now: number): void {
    const known = this.#knownIn(region).sort((a, b) => b.seenMs - a.seenMs);
    const [latest] = known;
    const silentMs = latest ? now - latest.seenMs : 0;
    const { pingTimeoutMs } = this.#o;
    if (silentMs < pingTimeoutMs) return;
    const count = silentMs < SILENT_TIMEOUTS * pingTimeoutMs ? 1 : VERIFIED_MAX;
    for (const { contact } of known.slice(0, count)) this.#ping(contact.id);
  }

  #ping(id: string): void {
    if (!this.#pings.has(id)) this.#pings.set(id, null);
  }

  /**
   * These agents are named to others, which take them for running. Pings those that have been silent
   * for `pingAfterMs`.
   */
  named(agents: Iterable<Pick<Contact, 'id'>>, now: number): void {
    for (const { id } of agents) {
      const agent = this.#agents.get(id);
      if (agent && now - agent.seenMs >= this.#o.pingAfterMs) this.#ping(id);
    }
  }

  /** The contacts with an identifier in the region, and the agents that wait to become one. */
  #knownIn(region: Prefix): SeenAgent[] {
    const known = new Set(this.#index.within(region));
    for (const { waiting } of this.#buckets) {
      for (const agent of waiting.values()) {
        if (hasAny(agent.identifiers, region)) known.add(agent);
      }
    }
    return [...known];
  }

  /** The contacts to ping now. Evicts those whose ping was not answered in time. */
  pings(now: number): Contact[] {
    const due: Contact[] = [];
    for (const [id, sentMs] of this.#pings) {
      const { contact } = this.#agents.get(id)!;
      if (sentMs === null) {
        this.#pings.set(id, now);
        due.push(contact);
      } else if (now - sentMs >= this.#o.pingTimeoutMs) {
        this.failed(contact);
      }
    }
    return due;
  }

  /**
   * One random key of each region that is to be looked up, and calls the regions looked up, so that
   * they are not named again while the look-ups run. A region that lost all of its contacts after
   * others had been dropped is due at once.
   *
   * @param random - returns numbers in [0, 1)
   */
  refreshes(now: number, random: () => number): Key[] {
    const due = this.#buckets.filter(
      ({ lookedUpMs, isUrgent }) => isUrgent || now - lookedUpMs >= this.#o.refreshMs,
    );
    return due.map((bucket) => {
      bucket.lookedUpMs = now;
      bucket.isUrgent = false;
      return randomKeyIn(bucket.prefix, random);
    });
  }

  /** A look-up of the key has ended, and `seen` was called for every agent that answered. */
  lookedUp(key: Key, now: number): void {
    const bucket = this.#bucketOf(key);
    bucket.lookedUpMs = now;
    // The look-up asked the bucketSize nearest agents. If the region had so many, it would be full.
    if (!bucket.isFull) bucket.hasDropped = false;
  }

  /**
   * The agents nearest to the key by their nearest identifiers, the nearest first.
   *
   * @param withSelf - whether this agent counts as one of them
   */
  closest(key: Key, count: number, withSelf: boolean): Contact[] {
    const agents = this.#closest(key, count);
    if (!withSelf) return agents.map(({ contact }) => contact);
    const mine = distanceTo(key, this.#own);
    const after = agents.findIndex(({ contact, identifiers }) => {
      const distance = distanceTo(key, identifiers);
      return distance === mine ? contact.id > this.#self.id : distance > mine;
    });
    const contacts = agents.map(({ contact }) => contact);
    contacts.splice(after < 0 ? contacts.length : after, 0, this.#self);
    return contacts.slice(0, count);
  }

  #closest(key: Key, count: number): SeenAgent[] {
    const { all } = this.#index;
    if (all.size <= COMPARED_FACTOR * count) {
      return [...all.values()]
        .map((agent) => ({ agent, distance: distanceTo(key, agent.identifiers) }))
        .sort((a, b) => {
          const isEqual = a.distance === b.distance;
          const isNearer = isEqual
            ? a.agent.contact.id < b.agent.contact.id
            : a.distance < b.distance;
          return isNearer ? -1 : 1;
        })
        .slice(0, count)
        .map(({ agent }) => agent);
    }
    const found = new Set<SeenAgent>();
    for (const agent of count > 0 ? this.#index.nearest(key) : []) {
      found.add(agent);
      if (found.size >= count) break;
    }
    return [...found];
  }

  /** Whether the agent is a contact or waits to become one. */
  has(id: string): boolean {
    return this.#agents.has(id);
  }

  /** Whether an agent that is not here would become a contact at once. */
  hasRoomFor(identifiers: readonly Key[]): boolean {
    return this.#bucketsOf({ identifiers })
      .values()
      .some((bucket) => !bucket.isFull || this.#maySplit(bucket));
  }

  /** At most `max` contacts with an identifier in the region, in the order of the identifiers. */
  contactsIn(prefix: Prefix, max: number): Contact[] {
    const found = new Set<Contact>();
    for (const { contact } of this.#index.within(prefix)) {
      if (found.size >= max) break;
      found.add(contact);
    }
    return [...found];
  }

  /**
   * Whether every agent that was seen with an identifier in the region has failed. False if there
   * is a contact, or if agents of the region were dropped; then a look-up finds them.
   */
  isEmpty(prefix: Prefix): boolean {
    if (this.#index.hasIn(prefix)) return false;
    return this.#buckets.every((bucket) => {
      const shorter = bucket.prefix.length < prefix.length ? bucket.prefix : prefix;
      const overlaps = isIn(bucket.prefix.bits, shorter) && isIn(prefix.bits, shorter);
      return !overlaps || (bucket.waiting.size === 0 && !bucket.hasDropped);
    });
  }

  /** All contacts, the most recently seen first: a later process can start from them. */
  contacts(): Contact[] {
    return [...this.#agents.values()]
      .filter(({ contactIn }) => contactIn > 0)
      .sort((a, b) => b.seenMs - a.seenMs)
      .map(({ contact }) => contact);
  }

  /** The regions, with the ids of their contacts, the least recently seen first. */
  buckets(): { readonly prefix: Prefix; readonly ids: string[]; readonly waiting: string[] }[] {
    return this.#buckets.map(({ prefix, contacts, waiting }) => {
      return { prefix, ids: [...contacts.keys()], waiting: [...waiting.keys()] };
    });
  }

  #offer(bucket: Bucket, agent: SeenAgent, now: number): void {
    if (!bucket.isFull || bucket.contacts.has(agent.contact.id)) {
      bucket.add(agent);
      return;
    }
    if (this.#maySplit(bucket)) {
      for (const half of this.#split(bucket)) if (half.covers(agent)) this.#offer(half, agent, now);
      return;
    }
    const dropped = bucket.wait(agent);
    if (dropped?.contactIn === 0 && dropped.waitingIn === 0) {
      this.#agents.delete(dropped.contact.id);
      this.#pings.delete(dropped.contact.id);
    }
    const { contact, seenMs } = bucket.leastRecentlySeen!;
    if (now - seenMs >= this.#o.pingAfterMs) this.#ping(contact.id);
  }

  #maySplit({ prefix }: Bucket): boolean {
    return prefix.length < KEY_BITS && hasAny(this.#own, prefix);
  }

  #split(bucket: Bucket): Bucket[] {
    const { bits, length } = bucket.prefix;
    const one = bits | (1n << BigInt(KEY_BITS - 1 - length));
    const halves = bucket.split([prefixOf(bits, length + 1), prefixOf(one, length + 1)]);
    this.#buckets.splice(this.#buckets.indexOf(bucket), 1, ...halves);
    return halves;
  }

  #indexed(agent: SeenAgent): void {
    if (agent.contactIn > 0) this.#index.add(agent.contact.id, agent.identifiers, agent);
  }

  #bucketsOf({ identifiers }: Pick<SeenAgent, 'identifiers'>): Set<Bucket> {
    return new Set(identifiers.map((identifier) => this.#bucketOf(identifier)));
  }

  #bucketOf(key: Key): Bucket {
    let [from, to] = [0, this.#buckets.length - 1];
    while (from < to) {
      const middle = (from + to + 1) >>> 1;
      if (this.#buckets[middle]!.prefix.bits <= key) from = middle;
      else to = middle - 1;
    }
    return this.#buckets[from]!;
  }
}
