// Checks for every message, direct or relayed, whether its sender may send that type (PROTOCOL
// rule 17). Agents that are not members, or have other settings, can only ask to join. An event
// `refused` names each sender that is refused.

import type { AgentId, Envelope, Incarnation, Message, MessageType } from '../protocol/messages.ts';
import type { OverlayMessage } from '../protocol/overlay-messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Greetings } from './greetings.ts';
import type { Outbound } from './outbound.ts';
import type { Overlay } from './overlay.ts';
import type { Claim, RefusedClaims } from './refused-claims.ts';
import type { View } from './view.ts';

/**
 * The senders from whom a type of message is accepted.
 *
 * - `anyone`: all; the handler checks the message.
 * - `agreeing`: agents whose message has the digest of the same settings.
 * - `asked`: agents that repeat the greeting of a HELLO of this incarnation to them.
 * - `end`: `asked` before this agent has joined, then `member`.
 * - `member`: the incarnation of the sender that is in view.
 * - `correspondent`: the incarnation of a sender in view, or of an agent with the same settings that
 *   need not be in view, because the view is partial.
 * - `answerer`: the incarnation of a sender in view, or of one that has answered at its address.
 * - `nobody`: commands do not arrive here (`messaging/control-desk.ts`).
 */
export type Sender =
  | 'anyone'
  | 'agreeing'
  | 'asked'
  | 'end'
  | 'member'
  | 'correspondent'
  | 'answerer'
  | 'nobody';

export const TAKEN_FROM: Readonly<Record<MessageType, Sender>> = {
  HELLO: 'anyone',
  PROBE: 'agreeing',
  HEARTBEAT: 'agreeing',
  WELCOME: 'asked',
  REFUSED: 'asked',
  COMPLETE: 'end',
  LIST: 'member',
  LIST_ACK: 'member',
  LIST_ASK: 'member',
  YIELD: 'member',
  YIELD_ACK: 'member',
  URLS: 'correspondent',
  URLS_ACK: 'correspondent',
  KNOWN: 'member',
  ROWS: 'member',
  ROWS_ACK: 'member',
  BATCH_REFUSED: 'correspondent',
  LEAVE: 'member',
  ORDERS: 'answerer',
  PING: 'agreeing',
  FIND_NODE: 'agreeing',
  FOUND_NODES: 'agreeing',
  TREE_TOLD: 'correspondent',
  TREE_ASK: 'correspondent',
  TREE_DONE: 'correspondent',
  REGION_ASK: 'member',
  REGION_TOLD: 'member',
  SLOT_ASK: 'correspondent',
  SLOT_GRANT: 'correspondent',
  SLOT_END: 'correspondent',
  PAGES_ASK: 'correspondent',
  PAGES_GRANT: 'correspondent',
  COUNT: 'member',
  COUNTED: 'member',
  ROBOTS_ASK: 'correspondent',
  ROBOTS_TOLD: 'correspondent',
  RELAY: 'correspondent',
  CONTROL: 'nobody',
  CONTROL_ACK: 'nobody',
};

/** The messages that only members send. */
export type MemberMessage = Exclude<
  Message,
  | OverlayMessage
  | {
      type:
        | 'RELAY'
        | 'HELLO'
        | 'PROBE'
        | 'HEARTBEAT'
        | 'REFUSED'
        | 'WELCOME'
        | 'COMPLETE'
        | 'URLS'
        | 'URLS_ACK'
        | 'ORDERS'
        | 'BATCH_REFUSED'
        | 'ROBOTS_ASK'
        | 'SLOT_ASK'
        | 'SLOT_GRANT'
        | 'SLOT_END'
        | 'PAGES_ASK'
        | 'PAGES_GRANT'
        | 'ROBOTS_TOLD';
    }
>;

export interface GateParts {
  readonly settings: Pick<CoreSettings, 'fingerprintHash'>;
  readonly view: Pick<View, 'get' | 'joined'>;
  readonly outbound: Pick<Outbound, 'inc'>;
  readonly refused: Pick<RefusedClaims, 'refuse'>;
  readonly overlay: Pick<Overlay, 'isPartial' | 'met'>;
  readonly contacts: { hasAnswered(from: Envelope['from']): boolean };
  readonly membership: {
    readonly greetings: Pick<Greetings, 'isOf' | 'isKnown'>;
    hasTombstone(id: AgentId, inc: Incarnation): boolean;
  };
}

type Now = Parameters<RefusedClaims['refuse']>[3];

export class Gate {
  readonly #p: GateParts;

  constructor(parts: GateParts) {
    this.#p = parts;
  }

  admits({ from, to, message }: Envelope, now: Now): boolean {
    const { type } = message;
    const sender = TAKEN_FROM[type];
    if (sender === 'anyone') return true;
    if (sender === 'agreeing') return this.#agrees(from.id, message, now);
    const { view, outbound, membership } = this.#p;
    // A message to an earlier incarnation, or from a removed one, is only late: no event is
    // recorded.
    if (to.inc !== outbound.inc || membership.hasTombstone(from.id, from.inc)) return false;
    const isMember = view.get(from.id)?.card.inc === from.inc;
    if (sender === 'asked' || (sender === 'end' && !view.joined)) {
      // In a partial view, this agent may have forgotten an agent that it greeted.
      const isExcused = (type === 'COMPLETE' && isMember) || this.#p.overlay.isPartial;
      return this.#wasAsked(from.id, message, isExcused, now);
    }
    if (sender !== 'nobody' && isMember) return true;
    const met = this.#p.overlay.met(from.id);
    if (sender === 'correspondent' && met?.inc === from.inc) return true;
    if (sender === 'answerer' && this.#p.contacts.hasAnswered(from)) return true;
    // In a partial view, the sender may not know yet that this agent stopped to watch it.
    const isMet = membership.greetings.isKnown(from.id) || this.#p.overlay.isPartial;
    if (sender !== 'nobody' && isMet) return false;
    return this.#refuse(from.id, 'stranger', `its ${type} is accepted from members only`, now);
  }

  #agrees(id: AgentId, message: Message, now: Now): boolean {
    const hash = 'fingerprintHash' in message ? message.fingerprintHash : '';
    if (hash === this.#p.settings.fingerprintHash) return true;
    return this.#refuse(id, 'settings', 'its settings differ from those of this agent', now);
  }

  /** `isExcused`: no event is recorded. A member repeats COMPLETE with each heartbeat. */
  #wasAsked(id: AgentId, message: Message, isExcused: boolean, now: Now): boolean {
    const greeting = 'greeting' in message ? message.greeting : undefined;
    if (this.#p.membership.greetings.isOf(id, greeting)) return true;
    if (isExcused) return false;
    const why = `its ${message.type} does not answer a HELLO of this agent`;
    return this.#refuse(id, 'unasked', why, now);
  }

  #refuse(id: AgentId, claim: Claim, why: string, now: Now): false {
    this.#p.refused.refuse(id, claim, why, now);
    return false;
  }
}
