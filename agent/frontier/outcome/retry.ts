// The retry table: what follows a request that did not end well. A pure function of the outcome and
// of the failures before it, called for the outcome of each page request. A server that says that
// it is busy, that cannot be reached or that stops answering holds back the whole host; a page that
// fails alone comes back later while the host's other pages go on, unless the host gives nothing but
// such failures for long. A URL or a host is given up only when its attempts are used up and a minimum
// time has passed since its first failure, so a short outage loses nothing. Both are bounded, so every
// queued URL ends in bounded time.

import type { FailureOutcome, ResponseOutcome } from '../../core/protocol/outcome.ts';

/** Waits before the second, third and fourth attempt at what failed without a clear answer. */
export const RETRY_WAITS_MS: readonly number[] = [10_000, 60_000, 300_000];
/** The same after 408, 421 and 425, which ask for a repetition. */
const SOON_WAITS_MS: readonly number[] = [1000, 10_000, 60_000];
const ASKS_AGAIN: ReadonlySet<number> = new Set([408, 421, 425]);

/** Shortest first back-off of a host that answers 429 or 503 without Retry-After. */
const BACKOFF_FIRST_MS = 60_000;
/** A host that was not busy for so long after its last block begins with the first back-off. */
const FORGIVEN_AFTER_MS = 30 * 60_000;
/** Attempts at what is answered 429 or 503. Without Retry-After the seven waits come to 2 to 4 h. */
export const BUSY_ATTEMPTS_MAX = 8;
/** A busy host, or robots.txt, is given up only after so long: its whole queue ends with it. */
export const BUSY_MS_MAX = 2 * 3600 * 1000;
/** A busy page of a host that answers others is given up only after so long. */
const BUSY_PAGE_MS_MAX = 8 * 60_000;
/**
 * Beside Retry-After, which is a minimum, a wait is as long as the row of failures has lasted,
 * within these bounds. Waits double this way. The first costs a second; after some hours one
 * request an hour is left.
 */
const GROWING_MS_MIN = 1000;
const GROWING_MS_MAX = 3600 * 1000;

/**
 * A page that was blocked more than once comes after others of its host: if it alone is blocked,
 * their answers show it. More than a timer may be late.
 */
const OTHERS_FIRST_MS = 1000;

/**
 * Requests in a row without an answer that do not hold back the host: some pages may be slow. Each
 * takes as long as the time-outs allow, ten seconds by default.
 */
const UNANSWERED_FREE = 8;
/**
 * Pages in a row whose first attempt failed slowly that do not hold back the host. Further attempts
 * at them say nothing new: where most pages are good, the bad ones are what is left in the end. More
 * than of the unanswered, since a server that answers may have a part that is broken.
 */
const FAILED_FREE = 16;
/**
 * A failure that takes longer is slow. Quicker ones cost a host about what its delay does, and its
 * pages are bounded by their attempts, so each is recorded with its own outcome.
 */
const SLOW_FAILURE_MS = 1000;
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
  /**
   * Steps of back-off without Retry-After, and the end of the last block; good answers do not take
   * them back.
   */
  readonly busy: number;
  readonly busyUntil: number;
  /** Since when it has answered nothing but 429 and 503; null where its last answer was better. */
  readonly busySince: number | null;
  /** Such answers since then. */
  readonly blocks: number;
  /** Waits in a row because the host could not be reached or did not answer. */
  readonly unconnected: number;
  /** Requests in a row that reached the host and got no answer, or a slow failure. */
  readonly unanswered: number;
}

/** What an outcome says of its host. */
export type Sign =
  /** It gives pages, or says what it has not. */
  | 'answers'
  | 'busy'
  | 'unreached'
  | 'unanswered'
  /** It took long over a page that it had not failed at before. */
  | 'failing'
  /** It was reached; the failure is the page's as long as nothing else is known. */
  | 'reached'
  | 'nothing';

/** @param attemptsBefore - attempts at this URL that were counted before this one, of any kind */
export function signOf(outcome: ResponseOutcome | FailureOutcome, attemptsBefore: number): Sign {
  const isFailing = attemptsBefore === 0 && outcome.durationMs >= SLOW_FAILURE_MS;
  if (outcome.kind === 'response') {
    const { status } = outcome;
    if (isBusy(status)) return 'busy';
    if (status < 500 && !asksAgain(status)) return 'answers';
    return isFailing ? 'failing' : 'reached';
  }
  switch (outcome.cause) {
    case 'connection':
      return 'unreached';
    case 'no-answer':
      return 'unanswered';
    case 'exchange':
      return isFailing ? 'failing' : 'reached';
    case 'forbidden-address':
    case 'withdrawn':
      return 'nothing';
  }
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
  const failingMs = elapsedMs(outcome.request.failedSince ?? null, outcome.endedAt);
  const row: Row = { failures: attemptsBefore, failingMs };
  const sign = signOf(outcome, attemptsBefore);
  const ofHost = sign === 'unreached' || holdsHost(sign, trouble);
  if (outcome.kind === 'response') return onStatus(outcome, row, trouble, { ofHost, chance });
  switch (outcome.cause) {
    case 'forbidden-address':
      return { kind: 'blocked' };
    case 'withdrawn':
      return { kind: 'withdrawn' };
    default:
      return ofHost ? onNoConnection(row, trouble.unconnected) : alone(RETRY_WAITS_MS, row);
  }
}

export function isBusy(status: number | null): boolean {
  return status === 429 || status === 503;
}

/** 408, 421 and 425 (RFC 9110, 15.5.9 and 15.5.20; RFC 8470, 5.2). */
export function asksAgain(status: number | null): boolean {
  return status !== null && ASKS_AGAIN.has(status);
}

/** Whether the request is one too many that brought nothing to be the fault of its page alone. */
export function holdsHost(sign: Sign, { unanswered }: Trouble): boolean {
  if (sign === 'unanswered') return unanswered >= UNANSWERED_FREE;
  return sign === 'failing' && unanswered >= FAILED_FREE;
}

/** Whether the host may be at fault, so that pages of all kinds are to be tried. */
export function isDoubtful({ unanswered }: Trouble): boolean {
  return unanswered >= UNANSWERED_FREE;
}

/** Whether the next request is the last one before such a host is given up. */
export function isLastTest({ unanswered, unconnected }: Trouble): boolean {
  return unanswered > 0 && unconnected >= RETRY_WAITS_MS.length;
}

/** Steps of back-off that still count when a request ends. */
export function stepsAt({ busy, busyUntil }: Trouble, endedAt: number): number {
  return endedAt - busyUntil >= FORGIVEN_AFTER_MS ? 0 : busy;
}

/** Failures in a row, and the time since the first of them. */
export interface Row {
  readonly failures: number;
  readonly failingMs: number;
}

/** Since a stored time; 0 where that is of a clock that was set back. */
export function elapsedMs(since: number | null, now: number): number {
  return since === null ? 0 : Math.max(0, now - since);
}

/**
 * The next of a row of waits: as far as the failures have come in it, by their number and by the
 * time that they took. Undefined: it is used up.
 */
export function nextWaitMs(waits: readonly number[], row: Row): number | undefined {
  let endsMs = 0;
  const next = waits.findIndex((waitMs, k) => {
    endsMs += waitMs;
    return row.failures <= k || row.failingMs < endsMs;
  });
  return waits[next];
}

/** The row of waits for an answer that is neither final nor 429 or 503. */
export function waitsOf(status: number | null): readonly number[] {
  return asksAgain(status) ? SOON_WAITS_MS : RETRY_WAITS_MS;
}

/**
 * With Retry-After no less than that and no less than the row of failures has lasted. Else 60 s
 * doubling with each step, and by chance up to twice that: hosts that one failure has blocked
 * together do not all come back together.
 */
export function busyWaitMs(
  retryAfterMs: number | null,
  { steps, failingMs }: { readonly steps: number; readonly failingMs: number },
  chance: Chance,
): number {
  const stepMs = BACKOFF_FIRST_MS * 2 ** Math.min(steps, 20);
  const waitMs =
    retryAfterMs === null
      ? Math.round(stepMs * (1 + chance()))
      : Math.max(retryAfterMs, Math.min(GROWING_MS_MAX, Math.max(GROWING_MS_MIN, failingMs)));
  return Math.min(WAIT_MS_MAX, waitMs);
}

function onStatus(
  outcome: ResponseOutcome,
  row: Row,
  trouble: Trouble,
  { ofHost, chance }: { readonly ofHost: boolean; readonly chance: Chance },
): Verdict {
  const { status, retryAfterMs } = outcome;
  if (isBusy(status)) return onBusy(outcome, row, trouble, chance);
  const askedMs = Math.min(retryAfterMs ?? 0, WAIT_MS_MAX);
  if (status < 500 && !asksAgain(status)) {
    return { kind: 'final', hostWaitMs: askedMs, givesUp: false };
  }
  const verdict = ofHost ? onNoConnection(row, trouble.unconnected) : alone(waitsOf(status), row);
  const hostWaitMs = Math.max(verdict.hostWaitMs, askedMs);
  return verdict.kind === 'again'
    ? { ...verdict, waitMs: Math.max(verdict.waitMs, hostWaitMs), hostWaitMs }
    : { ...verdict, hostWaitMs };
}

function onBusy(
  { retryAfterMs, endedAt }: ResponseOutcome,
  { failures, failingMs }: Row,
  trouble: Trouble,
  chance: Chance,
): Verdict {
  const hostMs = elapsedMs(trouble.busySince, endedAt);
  const steps = stepsAt(trouble, endedAt);
  const hostWaitMs = busyWaitMs(retryAfterMs, { steps, failingMs: hostMs }, chance);
  if (trouble.blocks + 1 >= BUSY_ATTEMPTS_MAX && hostMs >= BUSY_MS_MAX) {
    return { kind: 'final', hostWaitMs, givesUp: true };
  }
  // Where the host answered nothing better since the page failed first, the host is at fault.
  const isPages = hostMs < failingMs || hostMs >= BUSY_MS_MAX;
  if (isPages && failures + 1 >= BUSY_ATTEMPTS_MAX && failingMs >= BUSY_PAGE_MS_MAX) {
    return { kind: 'final', hostWaitMs, givesUp: false };
  }
  const ownMs = retryAfterMs === null ? 0 : busyWaitMs(retryAfterMs, { steps, failingMs }, chance);
  const behindMs = failures === 0 ? hostWaitMs : hostWaitMs + OTHERS_FIRST_MS;
  return { kind: 'again', waitMs: Math.max(behindMs, ownMs), hostWaitMs };
}

/** The host has its own row of attempts, so that one bad page never condemns the others. */
function onNoConnection(row: Row, unconnectedBefore: number): AgainOrFinal {
  const hostWaitMs = RETRY_WAITS_MS[unconnectedBefore];
  if (hostWaitMs === undefined) return { kind: 'final', hostWaitMs: 0, givesUp: true };
  const verdict = alone(RETRY_WAITS_MS, row);
  return verdict.kind === 'again'
    ? { ...verdict, waitMs: Math.max(verdict.waitMs, hostWaitMs), hostWaitMs }
    : { ...verdict, hostWaitMs };
}

type AgainOrFinal = Extract<Verdict, { kind: 'again' | 'final' }>;

function alone(waits: readonly number[], row: Row): AgainOrFinal {
  const waitMs = nextWaitMs(waits, row);
  return waitMs === undefined
    ? { kind: 'final', hostWaitMs: 0, givesUp: false }
    : { kind: 'again', waitMs, hostWaitMs: 0 };
}
