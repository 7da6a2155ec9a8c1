// Whether the queue of a host ends without further requests, and why: the operator has blocked it,
// the scope does not have it any more, its pages are used up or are not new. Asked at each step of
// a visit; the visit then ends some queued URLs a turn.

import type { QueueEnding } from './store.ts';

/** Its address may not be asked. */
export const ALL_BLOCKED: QueueEnding = {
  origin: null,
  as: { kind: 'skipped', reason: 'blocked' },
};
/** The same by the operator's order, which may be taken back. */
const BLOCKED_BY_ORDER: QueueEnding = { ...ALL_BLOCKED };
const OUT_OF_SCOPE: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'scope' } };
const OVER_PAGE_LIMIT: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'pages' } };
const TRAPPED: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'trap' } };

export interface QueueFacts {
  readonly isInScope: boolean;
  readonly isBlocked: boolean;
  readonly pagesLeft: number;
  readonly isTrap: boolean;
}

/** @param ending - that has begun; null: none has */
export function endingOf(ending: QueueEnding | null, facts: QueueFacts): QueueEnding | null {
  if (!facts.isInScope) return OUT_OF_SCOPE;
  if (facts.isBlocked) return BLOCKED_BY_ORDER;
  const begun = ending === BLOCKED_BY_ORDER ? null : ending;
  if (facts.pagesLeft <= 0 && begun?.as.kind !== 'skipped') return OVER_PAGE_LIMIT;
  return begun ?? (facts.isTrap ? TRAPPED : null);
}
