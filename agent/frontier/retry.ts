// What follows a request that did not end well: the retry table (CONTRACT; issue: frontier and
// visits). A pure function of the outcome and of what was tried before, called by the aftermath of
// each page request. A server that says it is busy, or that cannot be reached, holds back the
// whole host; a page that fails alone comes back later while the host's other pages go on.
// Attempts and waits are capped, and a host that only says no is given up, so every queued URL
// ends in bounded time and a crawl with broken hosts still completes.

import type { FailureOutcome, ResponseOutcome } from '../core/outcome.ts';

/** Waits before the second, third and fourth attempt at what failed without a clear answer. */
export const RETRY_WAITS_MS: readonly number[] = [10_000, 60_000, 300_000];
/** Shortest first back-off of a host that answers 429 or 503 without Retry-After. */
const BACKOFF_FIRST_MS = 60_000;
/** A host that was not busy for so long after its last block begins with the first back-off. */
const FORGIVEN_AFTER_MS = 30 * 60_000;
/** Attempts at one URL that is answered 429 or 503: the seven waits come to two to four hours. */
export const BUSY_ATTEMPTS_MAX = 8;
/**
 * A host that has answered nothing but 429 and 503 for so long when one of its URLs has used up
 * its attempts is given up: its other URLs would take as long again, each of them.
 */
const BUSY_MS_MAX = 2 * 3600 * 1000;
/** No wait is longer, whatever Retry-After says (and setTimeout fires at once beyond 24.8 days). */
const WAIT_MS_MAX = 24 * 3600 * 1000;

/**
 * A stored wait as it counts: one that would be longer than any is of a clock that was ahead and has
 * been set right between two lives of the process, and is over.
 */
export function believedWait(untilMs: number, nowMs: number): number {
  return untilMs - nowMs > WAIT_MS_MAX ? 0 : untilMs;
}

export type Verdict =
  /** The page is done. `givesUp`: so is what else is queued on its origin. */
  | { readonly kind: 'final'; readonly hostWaitMs: number; readonly givesUp: boolean }
  /** Known and deliberately not fetched: an address that must not be asked. */
  | { readonly kind: 'blocked' }
  /** Given up by this agent itself: queued as before, no attempt counted. */
  | { readonly kind: 'withdrawn' }
  /** Back into the queue; `hostWaitMs` is 0 where the page failed alone. */
  | { readonly kind: 'again'; readonly waitMs: number; readonly hostWaitMs: number };

/** The trouble of a host before this outcome. */
export interface Trouble {
  /** Steps of back-off taken, and the end of the last block; good answers do not take them back. */
  readonly busy: number;
  readonly busyUntil: number;
  /** Since when it has answered nothing but 429 and 503; null where its last answer was better. */
  readonly busySince: number | null;
  /** Failed connections in a row. */
  readonly unconnected: number;
}

/** A number from 0 up to 1. */
export type Chance = () => number;

/** @param attemptsBefore - attempts at this URL that were counted before this one, of any kind */
export function verdictOn(
  outcome: ResponseOutcome | FailureOutcome,
  attemptsBefore: number,
  trouble: Trouble,
  chance: Chance,
): Verdict {
  if (outcome.kind === 'response') return onStatus(outcome, attemptsBefore, trouble, chance);
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

/** Steps of back-off that still count when a request ends. */
export function stepsAt({ busy, busyUntil }: Trouble, endedAt: number): number {
  return endedAt - busyUntil >= FORGIVEN_AFTER_MS ? 0 : busy;
}

/**
 * Retry-After where the server gave one, else 60 s doubling with each step, and by chance up to
 * twice that: hosts that one failure has blocked together do not all come back together.
 */
export function busyWaitMs(retryAfterMs: number | null, steps: number, chance: Chance): number {
  const stepMs = BACKOFF_FIRST_MS * 2 ** Math.min(steps, 20);
  return Math.min(WAIT_MS_MAX, retryAfterMs ?? Math.round(stepMs * (1 + chance())));
}

function onStatus(
  outcome: ResponseOutcome,
  attemptsBefore: number,
  trouble: Trouble,
  chance: Chance,
): Verdict {
  const { status, retryAfterMs, endedAt } = outcome;
  if (!isBusy(status)) {
    return status >= 500 ? alone(attemptsBefore) : { kind: 'final', hostWaitMs: 0, givesUp: false };
  }
  const waitMs = busyWaitMs(retryAfterMs, stepsAt(trouble, endedAt), chance);
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
