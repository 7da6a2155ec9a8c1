// The agents that others have named and that have not answered yet. Those in a region of this agent
// are greeted, to become members. Others are pinged, to become contacts.

import type { Key } from '../../../assignment/identifiers.ts';
import {
  type Contact,
  hasAny,
  type IdentifiersOf,
  isDrained,
  type Prefix,
} from '../routing/contact.ts';
import { Hearsay } from '../routing/hearsay.ts';
import type { Neighbourhood } from './neighbourhood.ts';

interface NamedAgentsParts {
  readonly identifiersOf: IdentifiersOf;
  /** Time between two questions to an agent, and after which it counts as absent. */
  readonly everyMs: number;
  readonly waitMs: number;
  /** Of the present incarnation. */
  readonly hood: () => Pick<Neighbourhood, 'named' | 'needs' | 'expire'>;
  /** Whether an agent would become a contact. */
  readonly hasRoomFor: (identifiers: readonly Key[]) => boolean;
  readonly isKnown: (id: string) => boolean;
}

/** Agents of a region to greet: more than a region has. */
const TO_GREET_MAX = 1024;
/** Agents outside the view that are pinged. */
const TO_PING_MAX = 512;

export class NamedAgents {
  readonly #p: NamedAgentsParts;
  readonly #toGreet: Hearsay;
  readonly #toPing: Hearsay;

  constructor(parts: NamedAgentsParts) {
    this.#p = parts;
    const { everyMs, waitMs } = parts;
    this.#toGreet = new Hearsay({ max: TO_GREET_MAX, everyMs, waitMs });
    this.#toPing = new Hearsay({ max: TO_PING_MAX, everyMs, waitMs });
  }

  reset(): void {
    this.#toGreet.clear();
  }

  get greetsNobody(): boolean {
    return this.#toGreet.size === 0;
  }

  /** Agents of a region may be left out. */
  get isFull(): boolean {
    return this.#toGreet.isFull;
  }

  /** Whether one of the agents that are pinged lies in the region. */
  hasIn(region: Prefix): boolean {
    return this.#toPing.contacts().some((one) => hasAny(this.#p.identifiersOf(one), region));
  }

  /** An agent outside the view was named. Greets it if it is in a region, and says whether. */
  add(contact: Contact, now: number): boolean {
    // It will be named again.
    if (this.isFull && !this.#toGreet.has(contact.id)) return false;
    if (!this.#p.hood().named(contact.id, this.#p.identifiersOf(contact))) {
      this.pingLater(contact, now);
      return false;
    }
    this.#toGreet.add(contact, now);
    return true;
  }

  /** An agent outside the regions was named. */
  pingLater(contact: Contact, now: number): void {
    const { isKnown, hasRoomFor, identifiersOf } = this.#p;
    if (isDrained(contact)) return;
    if (isKnown(contact.id) || !hasRoomFor(identifiersOf(contact))) return;
    this.#toPing.add(contact, now);
  }

  /** The agent has answered that it cannot admit this one yet. */
  renew(id: string, now: number): void {
    this.#toGreet.renew(id, now);
  }

  /** The agent has sent a message, or must not be asked. */
  answered(id: string): void {
    this.#toPing.delete(id);
  }

  /** The agent is a member. */
  added(id: string): void {
    this.#toGreet.delete(id);
    this.#toPing.delete(id);
  }

  /** The agents to greet and to ping now, and those that have not answered. */
  due(now: number): {
    readonly greet: readonly Contact[];
    readonly pings: readonly Contact[];
    readonly expired: readonly Contact[];
  } {
    const hood = this.#p.hood();
    const near = this.#toGreet.due(now);
    for (const { id } of near.expired) hood.expire(id);
    const greet = near.asks.filter((contact) => {
      if (hood.needs(this.#p.identifiersOf(contact))) return true;
      this.#toGreet.delete(contact.id);
      hood.expire(contact.id);
      return false;
    });
    const far = this.#toPing.due(now);
    return { greet, pings: far.asks, expired: [...near.expired, ...far.expired] };
  }
}
