// The one gate through which every message passes before any part of the core acts on it: who may
// change something here by a message of that type. An agent that has not said
// HELLO, or has other settings, can only ask to be let in. An event names each sender that is refused.
// Called by `core.ts`, also for messages that come by a relay.

import type { AgentId, Envelope, Incarnation, Message, MessageType } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Greetings } from './greetings.ts';
import type { Outbound } from './outbound.ts';
import type { Claim, RefusedClaims } from './refused-claims.ts';
import type { View } from './view.ts';

/**
 * From whom a message is taken.
 *
 * - `anyone`: the message is a request, and its handler judges it.
 * - `agreeing`: who names the digest of the same settings.
 * - `asked`: who brings back the greeting of a HELLO that this incarnation sent to him.
 * - `end`: before this agent has joined as `asked`, afterwards as `member`.
 * - `member`: the incarnation of the sender that is in view.
 * - `nobody`: it does not come this way (commands: `messaging/control-desk.ts`).
 */
export type Sender = 'anyone' | 'agreeing' | 'asked' | 'end' | 'member' | 'nobody';

export const TAKEN_FROM: Readonly<Record<MessageType, Sender>> = {
  HELLO: 'anyone',
  PROBE: 'agreeing',
  HEARTBEAT: 'agreeing',
  WELCOME: 'asked',
  REFUSED: 'asked',
  COMPLETE: 'end',
  LIST: 'member',
  LIST_ACK: 'member',
  YIELD: 'member',
  YIELD_ACK: 'member',
  URLS: 'member',
  URLS_ACK: 'member',
  KNOWN: 'member',
  ROWS: 'member',
  ROWS_ACK: 'member',
  BATCH_REFUSED: 'member',
  LEAVE: 'member',
  ORDERS: 'member',
  SLOT_ASK: 'member',
  SLOT_GRANT: 'member',
  SLOT_END: 'member',
  PAGES_ASK: 'member',
  PAGES_GRANT: 'member',
  COUNT: 'member',
  COUNTED: 'member',
  ROBOTS_ASK: 'member',
  ROBOTS_TOLD: 'member',
  RELAY: 'member',
  CONTROL: 'nobody',
  CONTROL_ACK: 'nobody',
};

export interface GateParts {
  readonly settings: Pick<CoreSettings, 'fingerprintHash'>;
  readonly view: Pick<View, 'get' | 'joined'>;
  readonly outbound: Pick<Outbound, 'inc'>;
  readonly refused: Pick<RefusedClaims, 'refuse'>;
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
    // A message to an earlier incarnation, or from one that is gone, is only late: nobody is named for it.
    if (to.inc !== outbound.inc || membership.hasTombstone(from.id, from.inc)) return false;
    const isMember = view.get(from.id)?.card.inc === from.inc;
    if (sender === 'asked' || (sender === 'end' && !view.joined)) {
      return this.#wasAsked(from.id, message, type === 'COMPLETE' && isMember, now);
    }
    if (sender !== 'nobody' && isMember) return true;
    if (sender !== 'nobody' && membership.greetings.isKnown(from.id)) return false;
    return this.#refuse(from.id, 'stranger', `its ${type} came while it was no member`, now);
  }

  #agrees(id: AgentId, message: Message, now: Now): boolean {
    const hash = 'fingerprintHash' in message ? message.fingerprintHash : '';
    if (hash === this.#p.settings.fingerprintHash) return true;
    return this.#refuse(id, 'settings', 'its settings are not those of this agent', now);
  }

  /** `isMember`: it says so with each heartbeat, and is not to be named for it. */
  #wasAsked(id: AgentId, message: Message, isMember: boolean, now: Now): boolean {
    const greeting = 'greeting' in message ? message.greeting : undefined;
    if (this.#p.membership.greetings.isOf(id, greeting)) return true;
    if (isMember) return false;
    return this.#refuse(id, 'unasked', `its ${message.type} answers no HELLO of this agent`, now);
  }

  #refuse(id: AgentId, claim: Claim, why: string, now: Now): false {
    this.#p.refused.refuse(id, claim, why, now);
    return false;
  }
}
