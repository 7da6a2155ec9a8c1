// What follows a request that did not end well: the retry table (CONTRACT; issue: frontier and
// visits). A pure function of the outcome and of what was tried before. A server that says it is
// busy, or that cannot be reached, holds back the whole host; a page that fails alone comes back
// later while the host's other pages go on. Attempts and waits are capped, so every queued URL
// ends in bounded time and a crawl with broken hosts still completes.

import type { FailureOutcome, ResponseOutcome } from '../core/outcome.ts';

/** Waits before the second, third and fourth attempt at what failed without a clear answer. */
export const RETRY_WAITS_MS: readonly number[] = [10_000, 60_000, 300_000];
/** First back-off of a host that answers 429 or 503 without Retry-After; doubles each time. */
export const BACKOFF_FIRST_MS = 60_000;
/** 429 and 503 in a row for one URL: 60 s doubling comes to some four hours in all. */
export const BUSY_ATTEMPTS_MAX = 8;
/** No wait is longer, whatever Retry-After says (and setTimeout fires at once beyond 24.8 days). */
export const WAIT_MS_MAX = 24 * 3600 * 1000;

export type Verdict =
  | { readonly kind: 'final' }
  /** Known and deliberately not fetched: an address that must not be asked. */
  | { readonly kind: 'blocked' }
  /** Given up by this agent itself: queued as before, no attempt counted. */
  | { readonly kind: 'withdrawn' }
  | { readonly kind: 'again'; readonly waitMs: number; readonly of: 'url' | 'host' };

/** Consecutive trouble of a host: `busy` answers and failed connections since the last success. */
export interface Trouble {
  readonly busy: number;
  readonly unconnected: number;
}

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
      return again(Math.max(attemptsBefore, trouble.unconnected), 'host');
    case 'exchange':
      return again(attemptsBefore, 'url');
  }
}

function onStatus(outcome: ResponseOutcome, attemptsBefore: number, trouble: Trouble): Verdict {
  const { status } = outcome;
  if (status === 429 || status === 503) {
    if (attemptsBefore + 1 >= BUSY_ATTEMPTS_MAX) return { kind: 'final' };
    return { kind: 'again', waitMs: busyWaitMs(outcome.retryAfterMs, trouble.busy), of: 'host' };
  }
  return status >= 500 ? again(attemptsBefore, 'url') : { kind: 'final' };
}

/** Retry-After where the server gave one, else 60 s doubling with each busy answer in a row. */
export function busyWaitMs(retryAfterMs: number | null, busyBefore: number): number {
  return Math.min(WAIT_MS_MAX, retryAfterMs ?? BACKOFF_FIRST_MS * 2 ** Math.min(busyBefore, 20));
}

function again(failuresBefore: number, of: 'url' | 'host'): Verdict {
  const waitMs = RETRY_WAITS_MS[failuresBefore];
  return waitMs === undefined ? { kind: 'final' } : { kind: 'again', waitMs, of };
}
