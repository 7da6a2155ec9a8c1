// The retry table: decides what follows a request that failed. Pure.
//
// A server that is busy, unreachable or does not respond delays its whole host. A page that fails
// alone is retried later while the host's other pages continue, unless the host gives nothing but
// such failures for long. A URL or host is abandoned only when its attempts are used up and a
// minimum time has passed since its first failure, so a short outage loses nothing. Both limits are
// finite, so each queued URL ends in bounded time.

import type { FailureOutcome, ResponseOutcome } from '../../core/protocol/outcome.ts';
import type { HostRecord } from '../frontier-store.ts';

/** Waits before the second, third and fourth attempt after a failure without a clear answer. */
export const RETRY_WAITS_MS: readonly number[] = [10_000, 60_000, 300_000];
/** The waits after 408, 421 and 425 in their place: these statuses ask for a repetition. */
const SOON_WAITS_MS: readonly number[] = [1000, 10_000, 60_000];
const ASKS_AGAIN: ReadonlySet<number> = new Set([408, 421, 425]);

/** Minimum of the first back-off after 429 or 503 without Retry-After. */
const BACKOFF_FIRST_MS = 60_000;
/** The steps of a host's back-off are reset when this time has passed since its last back-off. */
const FORGIVEN_AFTER_MS = 30 * 60_000;
/** Attempts before a busy host or page is abandoned. Seven waits without Retry-After: 2 to 4 h. */
export const BUSY_ATTEMPTS_MAX = 8;
/** Minimum time before a busy host or robots.txt is abandoned: its whole queue ends with it. */
export const BUSY_MS_MAX = 2 * 3600 * 1000;
/** Minimum time before a busy page is abandoned if the host serves other pages. */
const BUSY_PAGE_MS_MAX = 8 * 60_000;
/**
 * With Retry-After, which is a minimum, a wait is as long as the failures have lasted so far,
 * within these bounds. So waits double: the first costs a second, and after some hours there is one
 * request an hour.
 */
const GROWING_MS_MIN = 1000;
const GROWING_MS_MAX = 3600 * 1000;

/**
 * A page that was answered 429 or 503 more than once is retried this much later than the host's
 * other pages: their responses show whether only this page is refused. Longer than a timer may be
 * late.
 */
const OTHERS_FIRST_MS = 1000;

/**
 * Consecutive requests without a response that do not delay the host, since some pages may be slow.
 * Each takes as long as the time-outs allow, ten seconds by default.
 */
const UNANSWERED_FREE = 8;
/**
 * Consecutive pages whose first attempt failed slowly that do not delay the host. Later attempts do
 * not count: most pages may be good and only the bad ones left. Higher than `UNANSWERED_FREE`,
 * since a server that responds may be broken in part.
 */
const FAILED_FREE = 16;
/**
 * A failure that takes longer is slow. Quicker failures cost a host about as much as its delay, and
 * each page has limited attempts, so each gets its own outcome.
 */
const SLOW_FAILURE_MS = 1000;
/** Upper limit of all waits, including Retry-After (setTimeout fires at once beyond 24.8 days). */
const WAIT_MS_MAX = 24 * 3600 * 1000;

/**
 * Corrects a stored wait. If it is longer than the maximum, the clock was ahead when it was stored
 * and has been corrected between two runs of the process; the wait is then over.
 */
export function believedWait(untilMs: number, nowMs: number): number {
  return untilMs - nowMs > WAIT_MS_MAX ? 0 : untilMs;
}

export type Verdict =
  /** The page has ended. `givesUp`: the other queued URLs of its origin end too. */
  | { readonly kind: 'final'; readonly hostWaitMs: number; readonly givesUp: boolean }
  /** Skipped: the address is forbidden. */
  | { readonly kind: 'blocked' }
  /** This agent cancelled the request: the page stays queued, and no attempt is counted. */
  | { readonly kind: 'withdrawn' }
  /** The page is retried; `hostWaitMs` is 0 if the page failed alone. */
  | { readonly kind: 'again'; readonly waitMs: number; readonly hostWaitMs: number };

/** The failure counters of a host before this outcome. */
export type Trouble = Readonly<
  Pick<HostRecord, 'busy' | 'busyUntil' | 'busySince' | 'blocks' | 'unconnected' | 'unanswered'>
>;

/** What an outcome says about its host. */
type Sign =
  /** It serves pages, or says that they do not exist. */
  | 'answers'
  | 'busy'
  | 'unreached'
  | 'unanswered'
  /** The first attempt at a page failed slowly. */
  | 'failing'
  /** It was reached. The failure is attributed to the page alone. */
  | 'reached'
  | 'nothing';

/** @param attemptsBefore - counted attempts of any kind at this URL before this one */
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

/** @returns a number from 0 up to, but not including, 1 */
export type Chance = () => number;

/** @param attemptsBefore - counted attempts of any kind at this URL before this one */
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

/** Whether so many requests brought nothing that the host is at fault and not the page alone. */
export function holdsHost(sign: Sign, { unanswered }: Trouble): boolean {
  if (sign === 'unanswered') return unanswered >= UNANSWERED_FREE;
  return sign === 'failing' && unanswered >= FAILED_FREE;
}

/** Whether the host may be at fault, so that pages from all parts of its queue are tried. */
export function isDoubtful({ unanswered }: Trouble): boolean {
  return unanswered >= UNANSWERED_FREE;
}

/** Whether the next request is the last one before the host is abandoned. */
export function isLastTest({ unanswered, unconnected }: Trouble): boolean {
  return unanswered > 0 && unconnected >= RETRY_WAITS_MS.length;
}

/** Back-off steps that still count when a request ends. */
export function stepsAt({ busy, busyUntil }: Trouble, endedAt: number): number {
  return endedAt - busyUntil >= FORGIVEN_AFTER_MS ? 0 : busy;
}

/** Consecutive failures, and the time since the first of them. */
export interface Row {
  readonly failures: number;
  readonly failingMs: number;
}

/** Milliseconds since a stored time; 0 if it is in the future, since the clock was set back. */
export function elapsedMs(since: number | null, now: number): number {
  return since === null ? 0 : Math.max(0, now - since);
}

/**
 * Returns the first wait that the failures have not passed in both number and duration. Undefined:
 * the series is used up.
 */
export function nextWaitMs(waits: readonly number[], row: Row): number | undefined {
  let endsMs = 0;
  const next = waits.findIndex((waitMs, k) => {
    endsMs += waitMs;
    return row.failures <= k || row.failingMs < endsMs;
  });
  return waits[next];
}

/** The series of waits for a response that is neither final nor 429 or 503. */
export function waitsOf(status: number | null): readonly number[] {
  return asksAgain(status) ? SOON_WAITS_MS : RETRY_WAITS_MS;
}

/**
 * The wait after 429 or 503. With Retry-After: at least that long, and about as long as the
 * failures have lasted. Without: 60 s, doubled with each step, then multiplied by a random factor
 * from 1 to 2, so that hosts blocked by the same failure do not resume together.
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
  // If the host answered nothing better since the page's first failure, the host is at fault.
  const isPages = hostMs < failingMs || hostMs >= BUSY_MS_MAX;
  if (isPages && failures + 1 >= BUSY_ATTEMPTS_MAX && failingMs >= BUSY_PAGE_MS_MAX) {
    return { kind: 'final', hostWaitMs, givesUp: false };
  }
  const ownMs = retryAfterMs === null ? 0 : busyWaitMs(retryAfterMs, { steps, failingMs }, chance);
  const behindMs = failures === 0 ? hostWaitMs : hostWaitMs + OTHERS_FIRST_MS;
  return { kind: 'again', waitMs: Math.max(behindMs, ownMs), hostWaitMs };
}

/** The host counts its attempts on its own, so that one bad page does not condemn the others. */
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
