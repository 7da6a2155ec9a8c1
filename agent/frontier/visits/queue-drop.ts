// Ends a host's queue without further requests, in batches, if the operator has blocked the host,
// it is out of scope, its page limit is reached, or its pages repeat.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { HostRecord, QueueDrop, QueuePlace } from '../frontier-store.ts';
import { ALL_BLOCKED } from '../outcome/outcome-handling.ts';
import type { VisitsParts } from './visits-parts.ts';

/** Maximum of queued URLs that end in one turn: a million must not block the event loop. */
const ENDED_PER_TURN = 500;
/** Wait before a visit continues in another turn, after its share of this one. */
export const NEXT_TURN_MS = 1;

/** The state of a visit that ends queued URLs. */
export interface Ends {
  readonly record: HostRecord;
  /** What is being ended, some URLs each turn. Not durable: the stored records start it again. */
  queueDrop: QueueDrop | null;
  /** The last entry examined for `ending`; null: start at the head of the queue. */
  endedTo: QueuePlace | null;
}

/** An object of its own: unlike `ALL_BLOCKED` it stops when the directive is withdrawn. */
const BLOCKED_BY_DIRECTIVE: QueueDrop = { ...ALL_BLOCKED };
const OUT_OF_SCOPE: QueueDrop = { origin: null, as: { kind: 'skipped', reason: 'scope' } };
const OVER_PAGE_LIMIT: QueueDrop = { origin: null, as: { kind: 'skipped', reason: 'pages' } };
const TRAPPED: QueueDrop = { origin: null, as: { kind: 'skipped', reason: 'trap' } };

/** Ends some queued URLs. Returns milliseconds until it must continue; 0: none is left to end. */
export function endQueued(parts: VisitsParts, visit: Ends, now: Instant): number {
  const { number, host } = visit.record;
  const { store, pagesPerHost, budgets } = parts;
  const pagesLeft = budgets?.pages?.over ? 0 : pagesPerHost - store.pagesDone(number);
  const queueDrop = queueDropOf(parts, visit, pagesLeft);
  // While the whole queue ends, URLs found meanwhile end too, so each turn starts at the head.
  if (queueDrop !== visit.queueDrop || queueDrop?.origin === null) visit.endedTo = null;
  visit.queueDrop = queueDrop;
  if (!queueDrop) return 0;
  // Failed URLs count as pages; URLs beyond the page limit are skipped.
  const counted = queueDrop.as.kind === 'failed' ? budgets?.pages : null;
  const max = queueDrop.as.kind === 'failed' ? Math.min(ENDED_PER_TURN, pagesLeft) : ENDED_PER_TURN;
  const allowed = counted ? counted.takeSome(host, max, now) : max;
  if (allowed === 0) return parts.heartbeatMs;
  const { ended, upTo } = store.endQueued(number, queueDrop, now.mono, allowed, visit.endedTo);
  counted?.giveBack(allowed - ended);
  visit.endedTo = upTo;
  if (upTo !== null) return NEXT_TURN_MS;
  visit.queueDrop = null;
  if (queueDrop.ofHost) forgetTrouble(parts, visit.record);
  return 0;
}

/** URLs found after the host was abandoned start with reset failure counters. */
function forgetTrouble({ store }: VisitsParts, record: HostRecord): void {
  const row = { unconnected: 0, unanswered: 0, busySince: null, blocks: 0 };
  Object.assign(record, { ...row, busy: 0, busyUntil: 0 });
  store.saveHost(record, null);
}

function queueDropOf(parts: VisitsParts, visit: Ends, pagesLeft: number): QueueDrop | null {
  const { host, stale } = visit.record;
  if (!parts.scope.covers(host)) return OUT_OF_SCOPE;
  if (parts.directives.blocks(host)) return BLOCKED_BY_DIRECTIVE;
  const begun = visit.queueDrop === BLOCKED_BY_DIRECTIVE ? null : visit.queueDrop;
  if (pagesLeft <= 0 && begun?.as.kind !== 'skipped') return OVER_PAGE_LIMIT;
  return begun ?? (parts.stalePages !== null && stale >= parts.stalePages ? TRAPPED : null);
}
