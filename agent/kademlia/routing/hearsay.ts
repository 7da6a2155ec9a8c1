// Agents that others named and that have not answered yet. Each is asked once in a heartbeat interval
// until it answers or the time is over. Others may name different addresses of one agent, and one of
// them may be false or old, so the addresses are asked in turn.

import type { AgentId } from '../../core/protocol/messages.ts';
import type { Contact } from './contact.ts';

export interface HearsayOptions {
  /** Agents that can be remembered. */
  readonly max: number;
  /** Time between two questions to an agent. */
  readonly everyMs: number;
  /** Time after which an agent that has not answered counts as absent. */
  readonly waitMs: number;
}

/** Addresses of one agent; more are not remembered. */
const ADDRESSES_MAX = 4;

interface Named {
  /** One for each address; the next one to ask is the first. */
  readonly contacts: Contact[];
  since: number;
  askedAt: number;
}

export class Hearsay {
  readonly #o: HearsayOptions;
  /** Filled by `add`; emptied by `delete` and, after `waitMs`, by `due`. Bound: `max`. */
  readonly #named = new Map<AgentId, Named>();

  constructor(options: HearsayOptions) {
    this.#o = options;
  }

  get size(): number {
    return this.#named.size;
  }

  get isFull(): boolean {
    return this.#named.size >= this.#o.max;
  }

  has(id: AgentId): boolean {
    return this.#named.has(id);
  }

  /** Returns false if there is no room for the agent. */
  add(contact: Contact, now: number): boolean {
    const known = this.#named.get(contact.id);
    if (!known) {
      if (this.isFull) return false;
      this.#named.set(contact.id, { contacts: [contact], since: now, askedAt: -Infinity });
    } else if (!known.contacts.some(({ address }) => address === contact.address)) {
      if (known.contacts.length < ADDRESSES_MAX) known.contacts.unshift(contact);
    }
    return true;
  }

  /** The agent runs, and is to be asked again. */
  renew(id: AgentId, now: number): void {
    const named = this.#named.get(id);
    if (named) named.since = now;
  }

  delete(id: AgentId): void {
    this.#named.delete(id);
  }

  clear(): void {
    this.#named.clear();
  }

  /** One contact of each agent. */
  *contacts(): Generator<Contact> {
    for (const { contacts } of this.#named.values()) yield contacts[0]!;
  }

  /** The agents to ask now, and those that have not answered in time and are forgotten. */
  due(now: number): { readonly asks: readonly Contact[]; readonly expired: readonly Contact[] } {
    const asks: Contact[] = [];
    const expired: Contact[] = [];
    for (const [id, named] of this.#named) {
      if (now - named.since >= this.#o.waitMs) {
        this.#named.delete(id);
        expired.push(...named.contacts);
      } else if (now - named.askedAt >= this.#o.everyMs) {
        named.askedAt = now;
        const [first] = named.contacts.splice(0, 1);
        named.contacts.push(first!);
        asks.push(first!);
      }
    }
    return { asks, expired };
  }
}
