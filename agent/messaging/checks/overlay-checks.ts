// The checks of the messages of agents that know only some of the others
// (core/protocol/overlay-messages.ts).

import { KEY_BITS } from '../../../assignment/identifiers.ts';
import type { Covered, MemberCard } from '../../core/protocol/messages.ts';
import type { OverlayMessage } from '../../core/protocol/overlay-messages.ts';
import { HASH_CHARS_MAX, ID_CHARS_MAX, IDENTIFIERS_MAX, MEMBERS_MAX } from './limits.ts';
import { address, capacity, card, hash, message } from './member-fields.ts';
import {
  type Check,
  flag,
  integer,
  list,
  natural,
  optional,
  shape,
  text,
  textLike,
} from './shape.ts';

const key = textLike(/^[0-9a-f]{40}$/, '160 bits in hexadecimal', KEY_BITS / 4);
const length = natural(KEY_BITS);
const agents = list(shape<MemberCard>(card), MEMBERS_MAX);
/** The pages of a cluster: a sum of many such numbers is exact, too. */
const PAGES_MAX = 2 ** 40;
const pages = natural(PAGES_MAX);
const base: Check = (value, inc) =>
  integer(value, inc) ?? (Math.abs(value as number) <= PAGES_MAX ? null : ': too large');
const sender = {
  ...{ capacity, address, fingerprintHash: hash },
  ...{ joined: optional(flag), orders: optional(hash) },
};
/** An agent, its incarnation and a number; or an epoch and a number. */
const wave = text(ID_CHARS_MAX + HASH_CHARS_MAX);

/** The verdict in COMPLETE. */
export const covers = optional(shape<Covered>({ idleSince: natural(), wave }));

/** The regions in a heartbeat. */
export const regions = optional(list(length, IDENTIFIERS_MAX));

export const overlayMessages: { readonly [K in OverlayMessage['type']]: Check } = {
  REGION_ASK: message<'REGION_ASK'>({ key, length }),
  REGION_TOLD: message<'REGION_TOLD'>({
    key,
    length,
    agents,
    empty: textLike(/^[01]*$/, 'binary digits', KEY_BITS, 0),
  }),
  PING: message<'PING'>({ ...sender, answer: flag }),
  FIND_NODE: message<'FIND_NODE'>({ ...sender, key }),
  FOUND_NODES: message<'FOUND_NODES'>({ ...sender, key, agents, leaving: optional(flag) }),
  TREE_TOLD: message<'TREE_TOLD'>({
    key,
    length,
    idle: flag,
    wave,
    sum: textLike(/^[0-9a-f]{16}$/, '64 bits in hexadecimal', 16),
    base: optional(base),
    pages: optional(pages),
  }),
  TREE_ASK: message<'TREE_ASK'>({ key, length, wave }),
  TREE_DONE: message<'TREE_DONE'>({ key, length, wave }),
};
