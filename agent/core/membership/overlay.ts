// The overlay answers the questions of the protocol that depend on how many agents an agent knows:
// which agents it watches, what they tell each other, and when it has joined (docs/OVERLAY.md).
// `FullView` is the overlay of agents that know all others. The preference lists come from
// `CoreSettings.build`, which must agree with the overlay.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Peer } from '../protocol/effects.ts';
import type {
  AgentId,
  Covered,
  Host,
  Incarnation,
  MemberCard,
  Message,
} from '../protocol/messages.ts';
import type { OverlayMessage, PagesState } from '../protocol/overlay-messages.ts';

type Heartbeat = Extract<Message, { type: 'HEARTBEAT' }>;

/** The part of a heartbeat that only a partial view needs. */
export type About = Pick<Heartbeat, 'regions' | 'complete' | 'needs'>;

/** The messages of agents that need not know each other. */
export type ContactMessage = Extract<
  OverlayMessage,
  { type: 'PING' | 'FIND_NODE' | 'FOUND_NODES' }
>;
export type RegionMessage = Extract<OverlayMessage, { type: 'REGION_ASK' | 'REGION_TOLD' }>;

export type TreeMessage = Extract<OverlayMessage, { type: 'TREE_TOLD' | 'TREE_ASK' | 'TREE_DONE' }>;

/** A message to an agent that need not be in view. */
export interface Addressed {
  readonly to: MemberCard;
  readonly message: Message;
}

/** What the last heartbeat of an agent says; `counter` is its number. */
export interface AgentState {
  readonly id: AgentId;
  readonly inc: Incarnation;
  readonly counter: number;
  readonly idle: boolean;
  /** The number of the heartbeat with which the idle period began. */
  readonly idleSince: number;
  /** Absent: the view is full, or there is no page limit. */
  readonly pages?: PagesState;
}

/** What a census of the page limit finds (`agent/core/budgets/`). */
export interface PageCount {
  /** Pages, and tokens that were not granted in the census's epoch. */
  readonly base: number;
  readonly pages: number;
}

/**
 * The name of the page limit in the preference lists; no host has it. In a partial view, its owner
 * leads the census of all agents.
 */
export const PAGES_NAME = 'limit:pages';

/** The incarnation that sent a message. */
export interface Sender {
  readonly id: AgentId;
  readonly inc: Incarnation;
}

/** A member as the overlay sees it. */
export interface Watched {
  readonly card: MemberCard;
  readonly joined: boolean;
  /** It owns no hosts any more. */
  readonly leaving: boolean;
}

/** The endpoints through which an agent finds the cluster. */
export interface Entries {
  /** From the config, without this agent's own. */
  readonly contacts: readonly string[];
  /** Other known addresses, for example of agents that were known earlier. */
  readonly others: readonly string[];
  /** Agents that have run in the same data directory since this one started. */
  readonly local: readonly Peer[];
  /** Where an agent with the identifier of this one has answered lately; null: nowhere. */
  readonly namesake: string | null;
  noteNamesake(address: string): void;
}

/** What a turn of the overlay asks the core to do. */
export interface OverlayWork {
  /** The preference lists may have changed although no member was added or removed. */
  readonly isMoved: boolean;
  /** Agents to which a HELLO is to be sent. */
  readonly greet: readonly Peer[];
  /** Messages to members. */
  readonly asks: readonly { readonly to: AgentId; readonly message: Message }[];
  /** Messages to agents that may not be members. */
  readonly pings: readonly { readonly to: Peer; readonly message: Message }[];
  /** Hosts whose owners have been found. */
  readonly located: readonly Host[];
}

/** Asks all agents, although no agent knows them all. `now` is in monotonic milliseconds. */
export interface Tree {
  /** Returns the answer, if there is one. */
  onMessage(from: MemberCard, message: TreeMessage, now: number): Message | null;
  /** Continues to find out whether all agents are idle. Called with each heartbeat. */
  survey(me: AgentState, stateOf: (id: AgentId) => AgentState | null, now: number): Addressed[];
  /** All agents were idle at once, this one in its present idle period. */
  isComplete: boolean;
  /** The idle period of a member that the verdict covers, to tell it; null: none. */
  verdictFor(id: AgentId): Covered | null;
  /** Whether the agents outside the view that this agent must tell the verdict have it. */
  readonly hasToldVerdict: boolean;
  /** Continues the census of an epoch, as its owner, or begins it; null: it is not complete. */
  census(epoch: string): PageCount | null;
  /** The epoch of the last census for which this agent was asked; null: none. */
  readonly askedEpoch: string | null;
}

export interface Overlay {
  /** Whether this agent knows only some of the others. */
  readonly isPartial: boolean;
  /** Whether this agent joins although it meets no member: others would meet it. */
  readonly mayBeFirst: boolean;
  readonly entries: Entries;
  /** An agent that was greeted has no room for another member yet. */
  postponed(id: AgentId, now: Instant): void;
  /** A new incarnation begins, without members. */
  reset(capacity: number, now: Instant): void;
  /** This agent has joined. */
  joined(): void;
  /** This agent leaves. */
  leaves(): void;
  added(member: Watched, now: Instant): void;
  /** The member is not watched any more. `isGone`: because it was removed or has left. */
  removed(member: Watched, isGone: boolean): void;
  /** A heartbeat of the member has arrived. */
  heard(member: Watched, about: About, now: Instant): void;
  /** What the heartbeat to the member says. */
  about(to: Watched): About;
  /** Whether an agent that is no member becomes one because of its heartbeat. */
  isWanted(card: MemberCard, about: About, now: Instant): boolean;
  /** Another agent reports an agent that is no member. Returns whether this agent must know it. */
  isNamed(card: MemberCard, now: Instant): boolean;
  /** The members that a member must know, so that heartbeats to it have news of them; null: all. */
  concerned(member: Watched): ReadonlySet<AgentId> | null;
  /** Whether this agent must know the member. */
  needs(member: Watched): boolean;
  /** Whether neither this agent nor the member must know the other. */
  isSpare(member: Watched): boolean;
  /** Whether this agent knows all agents that it must know before it joins. */
  isReady(now: Instant): boolean;
  /** Handles a message of a member about a region; returns the answer, if there is one. */
  onRegion(from: Watched, message: RegionMessage, now: Instant): Message | null;
  /** Handles a message from any agent; returns the answer, if there is one. */
  onContact(from: Sender, message: ContactMessage, now: Instant): Message | null;
  /**
   * An agent with the same settings has sent a message. Returns whether what it claims counts.
   *
   * @param via - the agent that relayed it
   */
  meet(card: MemberCard, now: Instant, via?: MemberCard): boolean;
  /** An agent that has sent a message, as it described itself; null: it has not. */
  met(id: AgentId): MemberCard | null;
  /** The agent over which messages to an agent outside the view are also sent; null: none. */
  via(id: AgentId): MemberCard | null;
  /** The agents outside and inside the view that have sent a message, as they described themselves. */
  known(): readonly MemberCard[];
  readonly tree: Tree;
  /** The owner of a host outside the neighbourhood; null: it is being looked for. */
  find(host: Host): MemberCard | null;
  /** The agent that was found for the host does not own it, or does not answer. */
  notThere(host: Host): void;
  pump(now: Instant): OverlayWork;
}

const NO_WORK: OverlayWork = { isMoved: false, greet: [], asks: [], pings: [], located: [] };

function noTree(): Tree {
  return {
    onMessage: () => null,
    survey: () => [],
    isComplete: false,
    verdictFor: () => null,
    hasToldVerdict: true,
    census: () => null,
    askedEpoch: null,
  };
}

/** Every agent knows all others. */
export class FullView implements Overlay {
  readonly isPartial = false;
  readonly mayBeFirst = true;
  readonly entries: Entries = {
    ...{ contacts: [], others: [], local: [], namesake: null },
    noteNamesake() {},
  };
  readonly tree = noTree();

  postponed(): void {}
  reset(): void {}
  joined(): void {}
  leaves(): void {}
  added(): void {}
  removed(): void {}
  heard(): void {}

  about(): About {
    return {};
  }

  concerned(): null {
    return null;
  }

  needs(): boolean {
    return true;
  }

  isSpare(): boolean {
    return false;
  }

  isNamed(): boolean {
    return true;
  }

  isWanted(): boolean {
    return true;
  }

  isReady(): boolean {
    return true;
  }

  onRegion(): null {
    return null;
  }

  onContact(): null {
    return null;
  }

  meet(): boolean {
    return true;
  }

  met(): null {
    return null;
  }

  via(): null {
    return null;
  }

  known(): MemberCard[] {
    return [];
  }

  find(): null {
    return null;
  }

  notThere(): void {}

  pump(): OverlayWork {
    return NO_WORK;
  }
}
