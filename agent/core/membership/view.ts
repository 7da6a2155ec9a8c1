// The view: the members that this agent counts as alive, and the placement of hosts on them. Roles
// such as owner and backup are derived from the view and never stored, so thousands of hosts change
// owner without a write. A leaving member stays in the view, but has no place on the ring.

import type { Assignment, RingMember } from '../../../assignment/assignment.ts';
import type {
  AgentId,
  Host,
  Incarnation,
  MemberCard,
  Message,
  News,
} from '../protocol/messages.ts';
import type { PagesState } from '../protocol/overlay-messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';

/** The part of a member's latest heartbeat that decides on completion and on relays. */
export interface LastHeartbeat {
  readonly counter: number;
  readonly idle: boolean;
  readonly idleSince: number;
  readonly viewHash: string;
  readonly news: ReadonlyMap<AgentId, { inc: Incarnation; counter: number; direct: boolean }>;
  readonly pages?: PagesState;
}

/** A later incarnation that claims the identifier of a member. */
export interface Rival {
  readonly inc: Incarnation;
  readonly address: string;
  /** When the claim arrived. */
  readonly since: number;
  /** The member has denied the claim. */
  denied: boolean;
}

export interface Member {
  readonly card: MemberCard;
  joined: boolean;
  /** Its first HELLO has arrived; later copies do not describe the current database. */
  greeted: boolean;
  /** Its first list as a leaver has arrived: it has no place on the ring, but stays in the view. */
  leaving: boolean;
  /** Another agent removed it, or it is deaf: it is not echoed and its news is ignored. */
  unechoed: boolean;
  /** The highest incarnation for which others have a tombstone, while this one is in view. */
  tombstoneInc: Incarnation;
  lastHeartbeat: LastHeartbeat | null;
  /** When it last echoed a new heartbeat of this agent; `suspectAfterMs` ago means deaf. */
  echoedAt: number;
  /** The highest counter of this agent that it echoed. */
  echoCounter: number;
  /** When its last heartbeat arrived, directly or over a relay. */
  heardAt: number;
  /** When its last heartbeat arrived directly; -Infinity if never. */
  directAt: number;
  /** Whether heartbeats of this agent reach it directly, as far as is known. */
  hearsMe: boolean;
  /** No heartbeat has arrived for `unheardMs`, directly or over a relay. */
  silent: boolean;
  /** Number of messages to it that were also sent over a relay, by type. */
  readonly relays: Map<Message['type'], number>;
  /** The incarnations that it suspects (`majority` only). */
  suspects: ReadonlyMap<AgentId, Incarnation>;
  /** The digest of its directives, as last reported; empty: none. */
  directivesHash: string;
  /** The last claim to its identifier; null: none. */
  rival: Rival | null;
  /** The greeting of its last HELLO. */
  greeting?: string | undefined;
}

export class View {
  readonly me: AgentId;
  readonly #members = new Map<AgentId, Member>();
  readonly #settings: Pick<CoreSettings, 'capacity' | 'build' | 'digest'>;
  /** This agent has joined (PROTOCOL rule 5). */
  joined = false;
  #placing = true;
  #assignment: Assignment | null = null;
  /** The digest of the view with this agent's incarnation. */
  #hash: { readonly inc: Incarnation; readonly text: string } | null = null;

  constructor(settings: Pick<CoreSettings, 'id' | 'capacity' | 'build' | 'digest'>) {
    this.me = settings.id;
    this.#settings = settings;
  }

  get size(): number {
    return this.#members.size;
  }

  get(id: AgentId): Member | undefined {
    return this.#members.get(id);
  }

  has(id: AgentId): boolean {
    return this.#members.has(id);
  }

  members(): IterableIterator<Member> {
    return this.#members.values();
  }

  add(news: News, now: number): Member {
    const { id, inc, capacity, address } = news;
    const member: Member = {
      card: { id, inc, capacity, address },
      joined: news.joined,
      greeted: false,
      leaving: false,
      unechoed: false,
      tombstoneInc: 0,
      lastHeartbeat: null,
      echoedAt: now,
      echoCounter: 0,
      heardAt: now,
      directAt: news.direct ? now : -Infinity,
      hearsMe: true,
      silent: false,
      relays: new Map(),
      suspects: new Map(),
      directivesHash: '',
      rival: null,
    };
    this.#members.set(id, member);
    this.#changed();
    return member;
  }

  delete(id: AgentId): void {
    this.#members.delete(id);
    this.#changed();
  }

  markLeaving(member: Member): void {
    member.leaving = true;
    this.#assignment = null;
  }

  /** The agents without a place on the ring; includes this agent if it leaves. */
  leavers(): AgentId[] {
    const ids = this.#placing ? [] : [this.me];
    for (const m of this.#members.values()) if (m.leaving) ids.push(m.card.id);
    return ids;
  }

  /** Removes this agent from the ring because it leaves; it owns no hosts any more. */
  stopPlacing(): void {
    this.#placing = false;
    this.#assignment = null;
  }

  /** The preference lists have changed although the members have not. */
  moved(): void {
    this.#assignment = null;
  }

  clear(): void {
    this.#members.clear();
    this.#changed();
  }

  #changed(): void {
    this.#assignment = null;
    this.#hash = null;
  }

  /** When a member last echoed a new heartbeat; `now` if there are no members. */
  lastEchoAt(now: number): number {
    const last = Math.max(...this.#members.values().map(({ echoedAt }) => echoedAt));
    return this.#members.size === 0 ? now : last;
  }

  /** The first agent of the preference list; undefined if no agent takes hosts. */
  owner(host: Host): AgentId | undefined {
    return this.assignment().owner(host);
  }

  /**
   * The owner or, if that is unknown because the view is partial, the agent in view that is nearest
   * to the host. It may become the owner before this agent knows that.
   */
  probableOwner(host: Host): AgentId | undefined {
    return this.owner(host) ?? this.assignment().nearest?.(host);
  }

  /** Whether the owner of the host, and so its backups, may be outside the view. */
  mayBeElsewhere(host: Host): boolean {
    if (this.owner(host) !== undefined || !this.assignment().nearest) return false;
    return this.#placing || this.#members.values().some(({ leaving }) => !leaving);
  }

  /** Whether an agent takes hosts: one that does not leave and is not drained. */
  get hasOwners(): boolean {
    const isPlaced = ({ leaving, card }: Member) => !leaving && card.capacity > 0;
    return (this.#placing && this.#settings.capacity > 0) || this.#members.values().some(isPlaced);
  }

  owns(host: Host): boolean {
    return this.owner(host) === this.me;
  }

  /** The first other member of the preference list, which would take the host over, if any. */
  leaseGrantor(host: Host): Member | undefined {
    for (const id of this.assignment().order(host, 2)) {
      if (id !== this.me) return this.#members.get(id);
    }
    return undefined;
  }

  /** The placement for the current view; a new object for each view. */
  assignment(): Assignment {
    if (this.#assignment) return this.#assignment;
    const placed: RingMember[] = [];
    if (this.#placing) placed.push({ id: this.me, capacity: this.#settings.capacity });
    for (const m of this.#members.values()) {
      if (!m.leaving) placed.push({ id: m.card.id, capacity: m.card.capacity });
    }
    this.#assignment = this.#settings.build(placed);
    return this.#assignment;
  }

  /** A digest, equal for agents that have the same incarnations in view. */
  hash(myInc: Incarnation): string {
    if (this.#hash?.inc === myInc) return this.#hash.text;
    const names = [`${this.me}.${myInc}`];
    for (const m of this.#members.values()) names.push(`${m.card.id}.${m.card.inc}`);
    const text = this.#settings.digest(names.sort().join(' '));
    this.#hash = { inc: myInc, text };
    return text;
  }
}
