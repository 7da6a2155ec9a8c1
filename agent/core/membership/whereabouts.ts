// Finds the owner of a host, and names the agents that are known. The owner is this agent or a member.
// In a partial view, it may also be an agent that a look-up has found (docs/OVERLAY.md).

import type { AgentId, Host, MemberCard } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Outbound } from './outbound.ts';
import type { Overlay } from './overlay.ts';
import type { View } from './view.ts';

export interface WhereaboutsParts {
  readonly settings: Pick<CoreSettings, 'id' | 'capacity' | 'address' | 'fingerprintHash'>;
  readonly view: Pick<View, 'owner' | 'get' | 'members' | 'joined'>;
  readonly overlay: Pick<Overlay, 'isPartial' | 'find' | 'notThere' | 'met' | 'known'>;
  readonly outbound: Pick<Outbound, 'inc'>;
}

export class Whereabouts {
  readonly #p: WhereaboutsParts;

  constructor(parts: WhereaboutsParts) {
    this.#p = parts;
  }

  get isPartial(): boolean {
    return this.#p.overlay.isPartial;
  }

  /** The digest of the settings on which all agents agree. */
  get fingerprintHash(): string {
    return this.#p.settings.fingerprintHash;
  }

  get me(): MemberCard {
    const { id, capacity, address } = this.#p.settings;
    return { id, inc: this.#p.outbound.inc, capacity, address };
  }

  /** Whether this agent is a member; until then it knows only some of the others. */
  get isMember(): boolean {
    return this.#p.view.joined;
  }

  members(): readonly MemberCard[] {
    return [...this.#p.view.members()].map(({ card }) => card);
  }

  /** Agents outside the view that have sent a message; some may be gone. */
  contacts(): readonly MemberCard[] {
    return this.#p.overlay.known().filter(({ id }) => !this.#p.view.get(id));
  }

  /** The owner as far as it is known; undefined: it is being looked for. */
  ownerOf(host: Host): AgentId | undefined {
    return this.#p.view.owner(host) ?? this.#p.overlay.find(host)?.id;
  }

  /** Like `ownerOf`; null: it is being looked for. */
  ownerCard(host: Host): MemberCard | null {
    const owner = this.#p.view.owner(host);
    if (owner === undefined) return this.#p.overlay.find(host);
    return this.#p.view.get(owner)?.card ?? this.me;
  }

  /** The agent that a look-up found for a host; null: the view decides, or it is not found yet. */
  far(host: Host): MemberCard | null {
    return this.#p.view.owner(host) === undefined ? this.#p.overlay.find(host) : null;
  }

  /** How an agent is reached; null: it is neither a member nor has it sent a message. */
  cardOf(id: AgentId): MemberCard | null {
    return this.#p.view.get(id)?.card ?? this.#p.overlay.met(id);
  }

  /** The agent that a look-up found for the host does not own it, or does not answer. */
  lookAgain(host: Host): void {
    const { overlay, view } = this.#p;
    if (!overlay.isPartial || view.owner(host) !== undefined) return;
    overlay.notThere(host);
    overlay.find(host);
  }
}
