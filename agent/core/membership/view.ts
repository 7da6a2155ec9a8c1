// The live view: the members this agent counts as alive, with what each last said, and the
// placement of hosts that follows from it. Every role (owner, next in order) is derived from the
// view and never stored, so thousands of hosts change owner without a write. A member that is
// leaving stays in the view, echoes and is echoed, but has no place in the order any more.

import type { Assignment, RingMember } from '../../../assignment/assignment.ts';
import type {
  AgentId,
  Host,
  Incarnation,
  MemberCard,
  Message,
  News,
} from '../protocol/messages.ts';
import type { BuildAssignment, CoreSettings } from '../protocol/settings.ts';

/** What a member said in its latest heartbeat that completion needs to know. */
export interface LastHeartbeat {
  readonly counter: number;
  readonly idle: boolean;
  readonly idleSince: number;
  readonly viewHash: string;
  readonly news: ReadonlyMap<AgentId, { inc: Incarnation; counter: number; direct: boolean }>;
}

/** A later incarnation that claims the identifier of a member. */
export interface Rival {
  readonly inc: Incarnation;
  readonly address: string;
  /** Since when the member has been asked. */
  readonly since: number;
  /** The member has answered. */
  denied: boolean;
}

export interface Member {
  readonly card: MemberCard;
  joined: boolean;
  /** Its HELLO was read; a later copy of it says nothing of its database any more. */
  greeted: boolean;
  /** It said itself that it leaves: out of the order, still in the view. */
  leaving: boolean;
  /** Called gone by another, or deaf: no longer echoed, its news ignored, until it is removed. */
  unechoed: boolean;
  /** The highest incarnation of it called gone by others while this one is still in view. */
  tombstoneInc: Incarnation;
  lastHeartbeat: LastHeartbeat | null;
  /** When it last echoed a heartbeat that was news then: long ago means that it is deaf. */
  echoedAt: number;
  echoCounter: number;
  /** When a heartbeat of its own last came, directly or by a relay. */
  heardAt: number;
  /** When one last came directly, without a relay; -Infinity if never. */
  directAt: number;
  /** Whether it hears this agent without a relay, as its news says; false when none comes. */
  hearsMe: boolean;
  /** No heartbeat of its own came for a while, not by relay either: what it said last is old. */
  silent: boolean;
  /** How many messages to it were also sent by a relay, by type. */
  readonly relays: Map<Message['type'], number>;
  /** The incarnations that it names as suspected (majority only). */
  suspects: ReadonlyMap<AgentId, Incarnation>;
  /** The digest of its orders, as it told it last; empty: none. */
  orders: string;
  /** Who claims its identifier; null: nobody has. */
  rival: Rival | null;
  /** Of its last HELLO. */
  greeting?: string | undefined;
}

export class View {
  readonly me: AgentId;
  readonly #members = new Map<AgentId, Member>();
  readonly #build: BuildAssignment;
  readonly #capacity: number;
  readonly #digest: (text: string) => string;
  /** This agent has joined: nobody owes it a list, so it knows which hosts are its own. */
  joined = false;
  #placing = true;
  #assignment: Assignment | null = null;

  constructor(settings: Pick<CoreSettings, 'id' | 'capacity' | 'build' | 'digest'>) {
    this.me = settings.id;
    this.#capacity = settings.capacity;
    this.#build = settings.build;
    this.#digest = settings.digest;
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
      orders: '',
      rival: null,
    };
    this.#members.set(id, member);
    this.#assignment = null;
    return member;
  }

  delete(id: AgentId): void {
    this.#members.delete(id);
    this.#assignment = null;
  }

  markLeaving(member: Member): void {
    member.leaving = true;
    this.#assignment = null;
  }

  /** Those that have no place in the order, this agent among them if it leaves. */
  leavers(): AgentId[] {
    const ids = this.#placing ? [] : [this.me];
    for (const m of this.#members.values()) if (m.leaving) ids.push(m.card.id);
    return ids;
  }

  /** Takes this agent itself out of the order: it leaves and owns nothing any more. */
  stopPlacing(): void {
    this.#placing = false;
    this.#assignment = null;
  }

  clear(): void {
    this.#members.clear();
    this.#assignment = null;
  }

  /** When news of this agent last advanced at any member; `now` where there is none. */
  lastEchoAt(now: number): number {
    const last = Math.max(...this.#members.values().map(({ echoedAt }) => echoedAt));
    return this.#members.size === 0 ? now : last;
  }

  /** The agent first in `order(host)`; undefined only when this agent leaves and nobody is left. */
  owner(host: Host): AgentId | undefined {
    return this.assignment().owner(host);
  }

  owns(host: Host): boolean {
    return this.owner(host) === this.me;
  }

  /** The next in order after this agent, who would take over; undefined when there is nobody. */
  leaseGrantor(host: Host): Member | undefined {
    for (const id of this.assignment().order(host, 2)) {
      if (id !== this.me) return this.#members.get(id);
    }
    return undefined;
  }

  /** The placement by today's view; a new object for each view. */
  assignment(): Assignment {
    if (this.#assignment) return this.#assignment;
    const placed: RingMember[] = [];
    if (this.#placing) placed.push({ id: this.me, capacity: this.#capacity });
    for (const m of this.#members.values()) {
      if (!m.leaving) placed.push({ id: m.card.id, capacity: m.card.capacity });
    }
    const assignment = this.#build(placed);
    this.#assignment = assignment;
    return assignment;
  }

  /** Equal exactly where the same incarnations are in view. */
  hash(myInc: Incarnation): string {
    const names = [`${this.me}.${myInc}`];
    for (const m of this.#members.values()) names.push(`${m.card.id}.${m.card.inc}`);
    return this.#digest(names.sort().join(' '));
  }
}
