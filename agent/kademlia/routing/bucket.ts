// A k-bucket: the agents that have at least one identifier in one region of the key space, the
// least recently seen first (Maymounkov and Mazières 2002, sections 2.2 and 4.1). Old contacts stay
// in place of new ones, because an agent that has run for long will probably run for longer, and
// because a flood of new agents must not displace the known ones.

import type { Key } from '../../../assignment/identifiers.ts';
import { type Contact, hasAny, type Prefix } from './contact.ts';

/** An agent that has been heard of from itself. The buckets that hold it share it. */
export interface SeenAgent {
  contact: Contact;
  readonly identifiers: readonly Key[];
  /** Time of its last message. */
  seenMs: number;
  /** Number of buckets that have it as a contact. */
  contactIn: number;
  /** Number of buckets in which it waits. */
  waitingIn: number;
}

export class Bucket {
  readonly prefix: Prefix;
  readonly #size: number;
  /**
   * Least recently seen first. Filled by `add` and by waiting agents, emptied by `delete` when an
   * agent has failed. Bound: `size`.
   */
  readonly contacts = new Map<string, SeenAgent>();
  /**
   * Agents that found the bucket full, the least recently seen first. Filled by `wait`, emptied by
   * `delete`; beyond `size` the least recently seen goes.
   */
  readonly waiting = new Map<string, SeenAgent>();
  /** When a look-up of a key in the region last ended. */
  lookedUpMs: number;
  /** The region may have agents that had to be forgotten, because the waiting list was full. */
  hasDropped = false;
  /** All contacts have failed although agents were dropped: a look-up is to find these. */
  isUrgent = false;

  constructor(prefix: Prefix, size: number, lookedUpMs: number) {
    this.prefix = prefix;
    this.#size = size;
    this.lookedUpMs = lookedUpMs;
  }

  get isFull(): boolean {
    return this.contacts.size >= this.#size;
  }

  covers({ identifiers }: Pick<SeenAgent, 'identifiers'>): boolean {
    return hasAny(identifiers, this.prefix);
  }

  get leastRecentlySeen(): SeenAgent | undefined {
    const [first] = this.contacts.values();
    return first;
  }

  /** Makes the agent the most recently seen contact. Only for a known contact or a free place. */
  add(agent: SeenAgent): void {
    const { id } = agent.contact;
    if (!this.contacts.delete(id)) agent.contactIn++;
    this.contacts.set(id, agent);
  }

  /** Lets an agent wait for a free place. Returns the agent that was dropped for it, if any. */
  wait(agent: SeenAgent): SeenAgent | undefined {
    const { id } = agent.contact;
    if (!this.waiting.delete(id)) agent.waitingIn++;
    this.waiting.set(id, agent);
    if (this.waiting.size <= this.#size) return undefined;
    const [dropped] = this.waiting.values();
    this.#stopWaiting(dropped!);
    this.hasDropped = true;
    return dropped;
  }

  /**
   * Removes an agent that has failed. The most recently seen waiting agent gets the free place; it
   * is returned.
   */
  delete(agent: SeenAgent): SeenAgent | undefined {
    const { id } = agent.contact;
    if (this.waiting.has(id)) this.#stopWaiting(agent);
    if (!this.contacts.delete(id)) return undefined;
    agent.contactIn--;
    const next = [...this.waiting.values()].at(-1);
    if (next === undefined) {
      this.isUrgent ||= this.contacts.size === 0 && this.hasDropped;
      return undefined;
    }
    this.#stopWaiting(next);
    const later = [...this.contacts.values()].filter(({ seenMs }) => seenMs > next.seenMs);
    // The contacts seen later than it go behind it.
    for (const each of [next, ...later]) this.add(each);
    return next;
  }

  /** Divides the region. Each agent goes to every half in which it has an identifier. */
  split(halves: readonly Prefix[]): Bucket[] {
    const buckets = halves.map((half) => new Bucket(half, this.#size, this.lookedUpMs));
    for (const agent of this.contacts.values()) {
      agent.contactIn--;
      for (const bucket of buckets) if (bucket.covers(agent)) bucket.add(agent);
    }
    return buckets;
  }

  #stopWaiting(agent: SeenAgent): void {
    this.waiting.delete(agent.contact.id);
    agent.waitingIn--;
  }
}
