// Finds the owner of a host. The owner is this agent or a member. In a partial view, it may also be
// an agent that a look-up has found (docs/OVERLAY.md).

import type { AgentId, Host, MemberCard } from '../protocol/messages.ts';
import type { Overlay } from './overlay.ts';
import type { View } from './view.ts';

export class Whereabouts {
  readonly #view: Pick<View, 'owner' | 'get'>;
  readonly #overlay: Pick<Overlay, 'isPartial' | 'find' | 'notThere' | 'met'>;

  constructor(
    view: Pick<View, 'owner' | 'get'>,
    overlay: Pick<Overlay, 'isPartial' | 'find' | 'notThere' | 'met'>,
  ) {
    this.#view = view;
    this.#overlay = overlay;
  }

  /** The owner as far as it is known; undefined: it is being looked for. */
  ownerOf(host: Host): AgentId | undefined {
    return this.#view.owner(host) ?? this.#overlay.find(host)?.id;
  }

  /** The agent that a look-up found for a host; null: the view decides, or it is not found yet. */
  far(host: Host): MemberCard | null {
    return this.#view.owner(host) === undefined ? this.#overlay.find(host) : null;
  }

  /** How an agent is reached; null: it is neither a member nor has it sent a message. */
  cardOf(id: AgentId): MemberCard | null {
    return this.#view.get(id)?.card ?? this.#overlay.met(id);
  }

  /** The agent that a look-up found for the host does not own it, or does not answer. */
  lookAgain(host: Host): void {
    if (!this.#overlay.isPartial || this.#view.owner(host) !== undefined) return;
    this.#overlay.notThere(host);
    this.#overlay.find(host);
  }
}
