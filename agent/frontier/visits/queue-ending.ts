// Whether the queue of a host ends without further requests, and why: the operator has blocked it,
// the scope does not have it any more, its pages are used up or are not new. Asked at each step of
// a visit; the visit then ends some queued URLs a turn.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { HostRecord, QueueEnding, QueuePlace } from '../frontier-store.ts';
import { ALL_BLOCKED } from '../outcome/outcome-handling.ts';
import type { VisitsParts } from './visits-parts.ts';

/** Queued URLs that end together, in one turn: a queue of a million must not stop the loop. */
const ENDED_PER_TURN = 500;
/** A step that did its share of a turn goes on after this, in a turn of its own. */
export const NEXT_TURN_MS = 1;

/** What of a visit the ends of its queue go by. */
export interface Ends {
  readonly record: HostRecord;
  /**
   * Queued URLs that are being ended, some each turn. Lost with the visit: what begins it is in the
   * records of the host and its robots.txt.
   */
  ending: QueueEnding | null;
  /** Up to where the queue was looked at for them. */
  endedTo: QueuePlace | null;
}

/** The same by the operator's order, which may be taken back. */
const BLOCKED_BY_ORDER: QueueEnding = { ...ALL_BLOCKED };
const OUT_OF_SCOPE: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'scope' } };
const OVER_PAGE_LIMIT: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'pages' } };
const TRAPPED: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'trap' } };

interface QueueFacts {
  readonly isInScope: boolean;
  readonly isBlocked: boolean;
  readonly pagesLeft: number;
  readonly isTrap: boolean;
}

/** Ends queued URLs that are to end without a request; 0, or when to go on with those left. */
export function endQueued(parts: VisitsParts, visit: Ends, now: Instant): number {
  const { number, host, stale } = visit.record;
  const { store, scope, pagesPerHost, stalePages, orders, budgets } = parts;
  const pagesLeft = budgets?.pages?.over ? 0 : pagesPerHost - store.pagesDone(number);
  const ending = endingOf(visit.ending, {
    isInScope: scope.covers(host),
    isBlocked: orders.blocks(host),
    pagesLeft,
    isTrap: stalePages !== null && stale >= stalePages,
  });
  // Where the whole queue ends, URLs that are found meanwhile end too, so each turn begins at its start.
  if (ending !== visit.ending || ending?.origin === null) visit.endedTo = null;
  visit.ending = ending;
  if (!ending) return 0;
  // A failed URL counts as a page. URLs beyond the page limit are skipped.
  const counted = ending.as.kind === 'failed' ? budgets?.pages : null;
  const max = ending.as.kind === 'failed' ? Math.min(ENDED_PER_TURN, pagesLeft) : ENDED_PER_TURN;
  const allowed = counted ? counted.takeSome(host, max, now) : max;
  if (allowed === 0) return parts.heartbeatMs;
  const { ended, upTo } = store.endQueued(number, ending, now.mono, allowed, visit.endedTo);
  counted?.giveBack(allowed - ended);
  visit.endedTo = upTo;
  if (upTo !== null) return NEXT_TURN_MS;
  visit.ending = null;
  if (ending.ofHost) forgetTrouble(parts, visit.record);
  return 0;
}

/** A URL that is found after its host was given up finds it with a clean slate. */
function forgetTrouble({ store }: VisitsParts, record: HostRecord): void {
  const row = { unconnected: 0, unanswered: 0, busySince: null, blocks: 0 };
  Object.assign(record, { ...row, busy: 0, busyUntil: 0 });
  store.saveHost(record, null);
}

/** @param ending - that has begun; null: none has */
function endingOf(ending: QueueEnding | null, facts: QueueFacts): QueueEnding | null {
  if (!facts.isInScope) return OUT_OF_SCOPE;
  if (facts.isBlocked) return BLOCKED_BY_ORDER;
  const begun = ending === BLOCKED_BY_ORDER ? null : ending;
  if (facts.pagesLeft <= 0 && begun?.as.kind !== 'skipped') return OVER_PAGE_LIMIT;
  return begun ?? (facts.isTrap ? TRAPPED : null);
}
