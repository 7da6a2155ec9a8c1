// The checks of what agents name in a walk from agent to agent (`agent/cli/common/walk.ts`). In
// messages it is part of a result, which may be any JSON.

import type { MemberCard } from '../../core/protocol/messages.ts';
import { MEMBERS_MAX } from './limits.ts';
import { card } from './member-fields.ts';
import { shape } from './shape.ts';

const check = shape<MemberCard>(card);

/**
 * The valid cards of a list.
 *
 * @param incarnationMax - the highest plausible incarnation
 * @param max - number of cards; more are ignored
 */
export function cardsOf(list: unknown, incarnationMax: number, max = MEMBERS_MAX): MemberCard[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, max).filter((one) => check(one, incarnationMax) === null);
}
