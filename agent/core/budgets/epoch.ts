// Epochs of the page limit: the owner begins one with each census. Their order decides between
// owners that follow one another.

import type { AgentId, Incarnation } from '../protocol/messages.ts';

/** Number, then the owner that began it: `3@a1.1700000000000`. */
export type Epoch = string;

/** No crawl needs so many. An absurd number, after which no epoch could follow, counts for nothing. */
const NUMBER_MAX = 1e9;

/** Before the first epoch. */
export const NO_EPOCH: Epoch = '';

/** An epoch after `last`, which may be that of another owner. */
export function nextEpoch(last: Epoch, id: AgentId, inc: Incarnation): Epoch {
  return `${numberOf(last) + 1}@${id}.${inc}`;
}

export function isLater(epoch: Epoch, than: Epoch): boolean {
  if (numberOf(epoch) > NUMBER_MAX) return false;
  const more = numberOf(epoch) - numberOf(than);
  return more > 0 || (more === 0 && epoch > than);
}

function numberOf(epoch: Epoch): number {
  return epoch === NO_EPOCH ? 0 : Number.parseInt(epoch, 10);
}
