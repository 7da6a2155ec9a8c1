// Finds the owners of hosts that are not in this agent's neighbourhood, by look-ups of the hosts'
// keys. A look-up never decides who owns a host: it finds the agent to which URLs are sent, and that
// agent decides. Results are kept until their agent says that the host is not its own. So a look-up of
// a host ends when the nearest agent has answered and named no nearer one: agents near a key know each
// other. Only if the result was wrong, the next one asks as many agents as the paper does.

import type { Key, Sha1 } from '../../../assignment/identifiers.ts';
import type { AgentId, Host, MemberCard } from '../../core/protocol/messages.ts';
import { putLatest } from '../../core/protocol/put-latest.ts';
import {
  type Contact,
  contactOf,
  distanceTo,
  type IdentifiersOf,
  isDrained,
  keyOfName,
} from './contact.ts';
import { Lookup } from './lookup.ts';

export interface LocatorSettings {
  readonly self: Contact;
  readonly sha1: Sha1;
  readonly identifiersOf: IdentifiersOf;
  readonly bucketSize: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** The nearest agents that are known here. */
  readonly nearest: (key: Key) => readonly Contact[];
  /** An agent was found that answered, or did not; then `via` has it as a member. */
  readonly reached: (id: AgentId, via: MemberCard | null) => void;
  /**
   * The nearer one of the agent that was found, if any, and the members of the view; without leavers
   * if the owner of a host is looked for.
   */
  readonly nearer: (key: Key, found: MemberCard | null, isOwner: boolean) => MemberCard | null;
}

/** A question for an agent: whom it knows nearest to the key. */
export interface NodeQuestion {
  readonly to: Contact;
  readonly key: Key;
}

/** Hosts whose owners are remembered; beyond it the one that was located first is dropped. */
const LOCATED_MAX = 65_536;
/** Look-ups at a time. */
const RUNNING_MAX = 16;
/** Hosts that wait for a look-up; more are asked for again when their URLs are routed again. */
const WAITING_MAX = 4096;
/** More than a look-up asks: ten times `bucketSize`. */
const ANSWERS_MAX = 1024;

/** Begins the names of look-ups whose results are not kept; no host begins so. */
const REFRESH = '~';

interface Search {
  readonly host: Host;
  readonly key: Key;
  readonly lookup: Lookup;
  /**
   * The incarnations of the agents that answered, as their answers show. An agent that was not
   * asked can add itself. Bound: `ANSWERS_MAX`.
   */
  readonly cards: Map<AgentId, MemberCard>;
  /** Agents that the answers named as members, with those that named them. Bound: as above. */
  readonly named: Map<AgentId, { readonly card: MemberCard; readonly by: MemberCard }>;
}

export class Locator {
  readonly #s: LocatorSettings;
  readonly #located = new Map<Host, MemberCard>();
  /** Hosts whose last result was wrong. Bound: `LOCATED_MAX`. */
  readonly #doubted = new Map<Host, true>();
  /** By host, or by the name of a key that is not that of a host. */
  readonly #waiting = new Map<string, Key | null>();
  readonly #running = new Map<Key, Search>();

  constructor(settings: LocatorSettings) {
    this.#s = settings;
  }

  /** The agent that owns the host as far as is known; null: a look-up begins. */
  find(host: Host): MemberCard | null {
    return this.#located.get(host) ?? this.#seek(host, null);
  }

  /** The agent nearest to a key; null: a look-up begins. */
  nearest(key: Key): MemberCard | null {
    return this.#located.get(nameOf(key)) ?? this.#seek(nameOf(key), key);
  }

  /** Looks up a key only so that the routing table hears from the agents near it. */
  refresh(key: Key): void {
    this.#seek(`${REFRESH}${key}`, key);
  }

  #seek(name: string, key: Key | null): null {
    if (this.#waiting.size < WAITING_MAX) this.#waiting.set(name, key);
    return null;
  }

  /** The agent that was found does not own the host, or does not answer. */
  forget(host: Host): void {
    this.#located.delete(host);
    putLatest(this.#doubted, host, true, LOCATED_MAX);
  }

  forgetNearest(key: Key): void {
    this.forget(nameOf(key));
  }

  reset(): void {
    this.#located.clear();
    this.#doubted.clear();
    this.#waiting.clear();
    this.#running.clear();
  }

  get isQuiet(): boolean {
    return this.#waiting.size === 0 && this.#running.size === 0;
  }

  /**
   * The answer of an agent that was asked. A leaver owns no host, and answers until it has left. A
   * drained agent is never the result.
   *
   * @param from - as it describes itself
   */
  answered(from: MemberCard, key: Key, agents: readonly MemberCard[], isLeaving = false): void {
    const search = this.#running.get(key);
    if (!search) return;
    putLatest(search.cards, from.id, from, ANSWERS_MAX);
    for (const card of agents) {
      if (card.inc > 0) putLatest(search.named, card.id, { card, by: from }, ANSWERS_MAX);
    }
    const canBeResult = !isDrained(from) && !(isLeaving && isHost(search.host));
    search.lookup.answered(from, agents.map(contactOf), canBeResult);
  }

  /**
   * Continues the look-ups. Returns the questions to ask, the agents that did not answer, the hosts
   * whose owners are known now, and the keys whose look-ups have ended.
   */
  pump(now: number): {
    asks: NodeQuestion[];
    failed: Contact[];
    located: Host[];
    ended: Key[];
  } {
    for (const [name, key] of this.#waiting) {
      if (this.#running.size >= RUNNING_MAX) break;
      const sought = key ?? keyOfName(name, this.#s.sha1);
      const running = this.#running.get(sought);
      // Answers name the key only, so if another name has this key, one look-up follows the other.
      if (running && running.host !== name) continue;
      this.#waiting.delete(name);
      if (!running) this.#begin(name, sought);
    }
    const asks: NodeQuestion[] = [];
    const failed: Contact[] = [];
    const located: Host[] = [];
    const ended: Key[] = [];
    for (const search of [...this.#running.values()]) {
      const { host, key, lookup } = search;
      const step = lookup.next(now);
      failed.push(...step.failed);
      asks.push(...step.asks.map((to) => ({ to, key })));
      const { result } = lookup;
      if (result === null) continue;
      this.#running.delete(key);
      ended.push(key);
      if (host.startsWith(REFRESH)) continue;
      const [first] = result.kind === 'nearest' ? result.nearest : [];
      const card = this.#s.nearer(key, this.#foundBy(search, first), isHost(host));
      if (!card) continue;
      this.#keep(host, card);
      if (!host.startsWith('#')) located.push(host);
    }
    return { asks, failed, located, ended };
  }

  /**
   * The nearest agent that answered. If that was wrong before, one that does not answer counts, too:
   * the link to it or from it may be dead, and the agent that has it as a member can relay.
   */
  #foundBy({ host, key, cards, named }: Search, first: Contact | undefined): MemberCard | null {
    let found = (first && cards.get(first.id)) ?? null;
    let via: MemberCard | null = null;
    const distanceOf = (card: MemberCard | null) =>
      distanceTo(key, card ? this.#s.identifiersOf(card) : []);
    for (const { card, by } of this.#doubted.has(host) ? named.values() : []) {
      if (cards.has(card.id) || isDrained(card)) continue;
      if (distanceOf(card) >= distanceOf(found)) continue;
      [found, via] = [card, by];
    }
    if (found) this.#s.reached(found.id, via);
    return found;
  }

  #begin(host: Host, key: Key): void {
    // It may have been asked for again while its look-up was running.
    if (this.#located.has(host)) return;
    const { self, identifiersOf, bucketSize, concurrency, timeoutMs } = this.#s;
    const lookup = new Lookup({
      ...{ key, self: self.id, identifiersOf, bucketSize, concurrency, timeoutMs },
      start: this.#s.nearest(key),
      wanted: this.#isQuick(host) ? 1 : bucketSize,
      purpose: 'node',
    });
    this.#running.set(key, { host, key, lookup, cards: new Map(), named: new Map() });
  }

  /** Routing tables, leaders and joins need all agents near a key; a link needs its owner. */
  #isQuick(name: string): boolean {
    return isHost(name) && !this.#doubted.has(name);
  }

  #keep(host: Host, card: MemberCard): void {
    this.#doubted.delete(host);
    this.#located.set(host, card);
    if (this.#located.size <= LOCATED_MAX) return;
    const [first] = this.#located.keys();
    this.#located.delete(first!);
  }
}

function isHost(name: string): boolean {
  return !name.startsWith(REFRESH) && !name.startsWith('#');
}

/** No host has such a name. */
function nameOf(key: Key): string {
  return `#${key}`;
}
