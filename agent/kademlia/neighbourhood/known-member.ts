// A member of the view, with what it has said of its regions.

import type { Key } from '../../../assignment/identifiers.ts';
import type { Watched } from '../../core/membership/overlay.ts';
import type { AgentId, MemberCard } from '../../core/protocol/messages.ts';
import { isDrained } from '../routing/contact.ts';
import type { Neighbour } from './known-places.ts';

/** A member, as its last heartbeat described it. */
export interface Known {
  readonly member: Watched;
  readonly card: MemberCard;
  readonly identifiers: readonly Key[];
  /** Empty until its first heartbeat, like `complete`. */
  regions: readonly number[];
  complete: readonly number[];
  /** Whether the member must know this agent, as it last said. */
  needsMe: boolean;
  /** The last heartbeat to it said that this agent does not need it. */
  isTold: boolean;
}

export function neighbourOf(id: AgentId, joined: boolean, known: Known): Neighbour {
  const { card, identifiers, regions, complete } = known;
  const drained = isDrained(card);
  return { id, identifiers, joined, drained, regions: [...regions], complete: [...complete] };
}
