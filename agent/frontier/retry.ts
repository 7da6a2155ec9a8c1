// What follows a request that did not end well: the retry table (CONTRACT; issue: frontier and
// visits). A pure function of the outcome and of what was tried before, called by the aftermath of
// each page request. A server that says it is busy, or that cannot be reached, holds back the
// whole host; a page that fails alone comes back later while the host's other pages go on.
// Attempts and waits are capped, and a host that only says no is given up, so every queued URL
// ends in bounded time and a crawl with broken hosts still completes.

import type { FailureOutcome, ResponseOutcome } from '../core/outcome.ts';

/** Waits before the second, third and fourth attempt at what failed without a clear answer. */
export const RETRY_WAITS_MS: readonly number[] = [10_000, 60_000, 300_000];
/** First back-off of a host that answers 429 or 503 without Retry-After; doubles each time. */
const BACKOFF_FIRST_MS = 60_000;
/** Attempts at one URL that is answered 429 or 503: the seven waits come to some two hours. */
export const BUSY_ATTEMPTS_MAX = 8;
/**
 * A host that has answered nothing but 429 and 503 for so long when one of its URLs has used up
 * its attempts is given up: its other URLs would take as long again, each of them.
 */
const BUSY_MS_MAX = 2 * 3600 * 1000;
/** No wait is longer, whatever Retry-After says (and setTimeout fires at once beyond 24.8 days). */
const WAIT_MS_MAX = 24 * 3600 * 1000;

export type Verdict =
  /** The page is done. `givesUp`: so is what else is queued on its origin. */
  | { readonly kind: 'final'; readonly hostWaitMs: number; readonly givesUp: boolean }
  /** Known and deliberately not fetched: an address that must not be asked. */
  | { readonly kind: 'blocked' }
  /** Given up by this agent itself: queued as before, no attempt counted. */
  | { readonly kind: 'withdrawn' }
  /** Back into the queue; `hostWaitMs` is 0 where the page failed alone. */
  | { readonly kind: 'again'; readonly waitMs: number; readonly hostWaitMs: number };

/** Consecutive trouble of a host before this outcome. */
export interface Trouble {
  readonly busy: number;
  readonly busySince: number | null;
  readonly unconnected: number;
}

/** @param attemptsBefore - attempts at this URL that were counted before this one, of any kind */
export function verdictOn(
  outcome: ResponseOutcome | FailureOutcome,
  attemptsBefore: number,
  trouble: Trouble,
): Verdict {
  if (outcome.kind === 'response') return onStatus(outcome, attemptsBefore, trouble);
  switch (outcome.cause) {
    case 'forbidden-address':
      return { kind: 'blocked' };
    case 'withdrawn':
      return { kind: 'withdrawn' };
    case 'connection':
      return onNoConnection(attemptsBefore, trouble.unconnected);
    case 'exchange':
      return alone(attemptsBefore);
  }
}

export function isBusy(status: number | null): boolean {
  return status === 429 || status === 503;
}

/** Retry-After where the server gave one, else 60 s doubling with each busy answer in a row. */
export function busyWaitMs(retryAfterMs: number | null, busyBefore: number): number {
  return Math.min(WAIT_MS_MAX, retryAfterMs ?? BACKOFF_FIRST_MS * 2 ** Math.min(busyBefore, 20));
}

function onStatus(outcome: ResponseOutcome, attemptsBefore: number, trouble: Trouble): Verdict {
  const { status, retryAfterMs, endedAt } = outcome;
  if (!isBusy(status)) {
    return status >= 500 ? alone(attemptsBefore) : { kind: 'final', hostWaitMs: 0, givesUp: false };
  }
  const waitMs = busyWaitMs(retryAfterMs, trouble.busy);
  if (attemptsBefore + 1 < BUSY_ATTEMPTS_MAX) return { kind: 'again', waitMs, hostWaitMs: waitMs };
  const busyMs = endedAt - (trouble.busySince ?? endedAt);
  return { kind: 'final', hostWaitMs: waitMs, givesUp: busyMs >= BUSY_MS_MAX };
}

/** The host has its own row of attempts, so that one bad page never condemns the others. */
function onNoConnection(attemptsBefore: number, unconnectedBefore: number): Verdict {
  const hostWaitMs = RETRY_WAITS_MS[unconnectedBefore];
  if (hostWaitMs === undefined) return { kind: 'final', hostWaitMs: 0, givesUp: true };
  const waitMs = RETRY_WAITS_MS[attemptsBefore];
  if (waitMs === undefined) return { kind: 'final', hostWaitMs, givesUp: false };
  return { kind: 'again', waitMs: Math.max(waitMs, hostWaitMs), hostWaitMs };
}

function alone(attemptsBefore: number): Verdict {
  const waitMs = RETRY_WAITS_MS[attemptsBefore];
  return waitMs === undefined
    ? { kind: 'final', hostWaitMs: 0, givesUp: false }
    : { kind: 'again', waitMs, hostWaitMs: 0 };
}
