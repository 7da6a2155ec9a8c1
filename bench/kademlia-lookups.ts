// The look-ups of simulated agents, as the network sees them: FIND_NODE and FOUND_NODES. An agent
// that was in the routing table is one hop away, and an agent that an answer names is one hop
// farther than the sender of that answer. No code of the product counts for it.

import type { AgentId, Message } from '../agent/core/protocol/messages.ts';

export interface SeenLookup {
  readonly from: AgentId;
  readonly key: string;
  /** Answers in the chain that led to the nearest agent that answered. */
  readonly hops: number;
  /** Requests sent; each has an answer if its receiver lives. */
  readonly requests: number;
  readonly nearest: AgentId;
  /** False while the look-up runs, or if an agent does not answer. */
  readonly isAnswered: boolean;
}

interface OpenLookup {
  requests: number;
  readonly hops: Map<AgentId, number>;
  readonly asked: Set<AgentId>;
  readonly answered: AgentId[];
}

export class LookupWatch {
  readonly #distance: (key: string, id: AgentId) => bigint;
  /** By agent and key. Filled by the first request, emptied by `take`. */
  readonly #open = new Map<string, OpenLookup>();
  readonly #ended: SeenLookup[] = [];

  /** @param distance - from a key, as in the messages, to the nearest identifier of an agent */
  constructor(distance: (key: string, id: AgentId) => bigint) {
    this.#distance = distance;
  }

  sent(from: AgentId, to: AgentId, message: Message): void {
    if (message.type === 'FIND_NODE') this.#asks(from, to, message.key);
    if (message.type !== 'FOUND_NODES') return;
    const lookup = this.#open.get(`${to} ${message.key}`);
    if (!lookup?.asked.has(from)) return;
    lookup.answered.push(from);
    const hops = (lookup.hops.get(from) ?? 1) + 1;
    for (const { id } of message.agents) if (!lookup.hops.has(id)) lookup.hops.set(id, hops);
  }

  #asks(from: AgentId, to: AgentId, key: string): void {
    const name = `${from} ${key}`;
    let lookup = this.#open.get(name);
    // No look-up asks an agent twice, so this is another one for the same key.
    if (lookup?.asked.has(to)) {
      this.#end(name, lookup);
      lookup = undefined;
    }
    lookup ??= { requests: 0, hops: new Map(), asked: new Set(), answered: [] };
    this.#open.set(name, lookup);
    lookup.requests++;
    lookup.asked.add(to);
    if (!lookup.hops.has(to)) lookup.hops.set(to, 1);
  }

  /** The look-ups since the last call. */
  take(): SeenLookup[] {
    for (const [name, lookup] of this.#open) this.#end(name, lookup);
    return this.#ended.splice(0);
  }

  #end(name: string, { requests, hops, answered }: OpenLookup): void {
    this.#open.delete(name);
    const [from = '', key = ''] = name.split(' ');
    const [nearest] = answered
      .map((id) => ({ id, distance: this.#distance(key, id) }))
      .sort((a, b) => (a.distance < b.distance ? -1 : 1));
    if (!nearest) return;
    const isAnswered = answered.length === requests;
    const hop = hops.get(nearest.id) ?? 1;
    this.#ended.push({ from, key, requests, nearest: nearest.id, hops: hop, isAnswered });
  }
}
