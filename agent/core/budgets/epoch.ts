// Epochs of the page limit: the owner begins one with each census. Their order decides between
// owners that follow one another.

import type { AgentId, Incarnation } from '../protocol/messages.ts';

/** Number, then the owner that began it: `3@a1.1700000000000`. */
export type Epoch = string;

/** Before the first epoch. */
export const NO_EPOCH: Epoch = '';

/** An epoch after `last`, which may be that of another owner. */
export function nextEpoch(last: Epoch, id: AgentId, inc: Incarnation): Epoch {
  return `${numberOf(last) + 1}@${id}.${inc}`;
}

export function isLater(epoch: Epoch, than: Epoch): boolean {
  const more = numberOf(epoch) - numberOf(than);
  return more > 0 || (more === 0 && epoch > than);
}

function numberOf(epoch: Epoch): number {
  return epoch === NO_EPOCH ? 0 : Number.parseInt(epoch, 10);
}
