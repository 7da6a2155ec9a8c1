// Remembers the agents outside the view and how they are reached. Limits the identifiers that they
// can make this agent compute and keep. Anybody can claim a capacity, and names cost nothing. A
// few identifiers are always taken. The agents that claim more share a maximum, as members outside
// the config do (`bounds.unconfiguredCapacity`). If it is reached, a new one takes the place of those
// that have had theirs for a while.

import type { RingMember } from '../../../assignment/assignment.ts';
import type { AgentId, MemberCard } from '../../core/protocol/messages.ts';
import { putLatest } from '../../core/protocol/put-latest.ts';

export interface ClaimsOptions {
  /** Identifiers of an agent of capacity 1. */
  readonly ids: number;
  /** Time between two messages of a large agent that count. */
  readonly everyMs: number;
  /** Time for which a large agent has its place at least. */
  readonly keepMs: number;
  /** A large agent has lost its place: its identifiers are not to be kept. */
  readonly dropped: (id: AgentId) => void;
}

/** A capacity of 32 with the default of `ids`: about 0.1 ms to compute. */
const SMALL_MAX = 128;
/** All identifiers of larger agents: about 10 ms to compute, once in `keepMs`. */
const LARGE_MAX = 16_384;

/** Agents outside the view whose incarnations are remembered. */
const MET_MAX = 4096;

interface Large {
  readonly capacity: number;
  readonly count: number;
  readonly since: number;
  heardAt: number;
}

export class Claims {
  readonly #o: ClaimsOptions;
  /** The oldest first. Bound: `LARGE_MAX` / `SMALL_MAX`. */
  readonly #large = new Map<AgentId, Large>();

  /** Agents that have sent a message. Filled by `meet`; bound: `MET_MAX`. */
  readonly #met = new Map<AgentId, MemberCard>();

  /** Another agent, over which messages between one and this agent pass. Bound: `MET_MAX`. */
  readonly #vias = new Map<AgentId, MemberCard>();

  constructor(options: ClaimsOptions) {
    this.#o = options;
  }

  reset(): void {
    this.#met.clear();
    this.#vias.clear();
  }

  meet({ id, inc, capacity, address }: MemberCard, via?: MemberCard): void {
    putLatest(this.#met, id, { id, inc, capacity, address }, MET_MAX);
    if (via) this.reached(id, via);
  }

  /** Null: messages reach the agent directly. */
  reached(id: AgentId, via: MemberCard | null): void {
    if (via) putLatest(this.#vias, id, via, MET_MAX);
    else this.#vias.delete(id);
  }

  via(id: AgentId): MemberCard | null {
    return this.#vias.get(id) ?? null;
  }

  met(id: AgentId): MemberCard | null {
    return this.#met.get(id) ?? null;
  }

  /**
   * Whether the identifiers of an agent may be computed. An incarnation has one capacity.
   *
   * @param member - the card of the agent in the view, which is proved
   */
  count({ id, inc, capacity }: MemberCard, member: MemberCard | undefined, now: number): boolean {
    if (member?.capacity === capacity) return true;
    const known = member ?? this.#met.get(id);
    if (known?.inc === inc && known.capacity !== capacity) return false;
    return this.#admits({ id, capacity }, now);
  }

  #admits({ id, capacity }: RingMember, now: number): boolean {
    const count = capacity * this.#o.ids;
    if (count <= SMALL_MAX) return true;
    const known = this.#large.get(id);
    if (known?.capacity === capacity) return true;
    const isOver = ({ since }: Large) => now - since >= this.#o.keepMs;
    if (known && !isOver(known)) return false;
    if (known) this.#drop(id);
    for (const [other, one] of this.#large) {
      if (this.#free >= count || !isOver(one)) break;
      this.#drop(other);
    }
    if (this.#free < count) return false;
    this.#large.set(id, { capacity, count, since: now, heardAt: -Infinity });
    return true;
  }

  get #free(): number {
    return this.#large.values().reduce((free, { count }) => free - count, LARGE_MAX);
  }

  #drop(id: AgentId): void {
    this.#large.delete(id);
    this.#met.delete(id);
    this.#o.dropped(id);
  }

  /** Whether a message of an admitted agent must be noted: each one costs as many comparisons. */
  isDue(id: AgentId, now: number): boolean {
    const large = this.#large.get(id);
    if (!large) return true;
    if (now - large.heardAt < this.#o.everyMs) return false;
    large.heardAt = now;
    return true;
  }
}
