// Checks of the fields that name agents, and of whole messages. The checks of the messages share
// them.

import type { MemberCard, Message, MessageType } from '../../core/protocol/messages.ts';
import { ADDRESS_CHARS_MAX, CAPACITY_MAX, HASH_CHARS_MAX, ID_CHARS_MAX } from './limits.ts';
import { type Check, type Fields, incarnation, positive, shape, text, textLike } from './shape.ts';

export const id = textLike(/^[^\s\p{Cc}]+$/u, 'an agent identifier', ID_CHARS_MAX);
export const address = textLike(
  // libzmq gives semicolons a special meaning.
  /^(?:tcp|ipc):\/\/[^\s;]+$/u,
  'a tcp or ipc endpoint',
  ADDRESS_CHARS_MAX,
);
export const hash = text(HASH_CHARS_MAX);
export const directedCapacity = positive(CAPACITY_MAX);
/** 0: the agent is drained. */
export const capacity: Check = (value, inc) => (value === 0 ? null : directedCapacity(value, inc));
export const card: Fields<MemberCard> = { id, inc: incarnation, capacity, address };

/** The fields of a message without its type. */
export type Body<K extends MessageType> = Omit<Extract<Message, { type: K }>, 'type'>;

/** The type was read before the check was chosen. */
const anything: Check = () => null;

export function message<K extends MessageType>(fields: Fields<Body<K>>): Check {
  return shape<{ type: K }>({ type: anything, ...fields } as Fields<{ type: K }>);
}
