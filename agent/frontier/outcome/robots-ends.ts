// Applies the outcome of a request for robots.txt to the visit's gate and the host.

import type { FailureOutcome, RobotsOutcome } from '../../core/protocol/outcome.ts';
import type { HostRecord } from '../frontier-store.ts';
import {
  ALL_BLOCKED,
  holdHost,
  NO_PAGE,
  noteAnswer,
  type OutcomeHandling,
  type OutcomeHandlingParts,
} from './outcome-handling.ts';
import { isBusy } from './retry.ts';
import type { RobotsAnswer, RobotsGate } from './robots-gate.ts';

/** The visit that made the request. */
interface Asking {
  readonly record: HostRecord;
  readonly gate: RobotsGate;
  /** The origin that it asked about. */
  readonly robotsOf: string;
}

export function robotsEnded(
  parts: OutcomeHandlingParts,
  { record, gate, robotsOf }: Asking,
  outcome: Pick<RobotsOutcome, 'request' | 'answer' | 'endedAt' | 'retryAfterMs'>,
): OutcomeHandling {
  const { request, answer, endedAt, retryAfterMs = 0 } = outcome;
  const waitMs = gate.answered(robotsOf, request.fetchUrl, answer, endedAt);
  holdHost(parts, record, endedAt, Math.max(waitMs, retryAfterMs));
  // A response resets the host's failure counters; robots.txt counts its own attempts.
  const trouble =
    answer.kind === 'unreachable' && (answer.status === null || isBusy(answer.status));
  if (!trouble) noteAnswer(record);
  return NO_PAGE;
}

export function robotsFailed(
  parts: OutcomeHandlingParts,
  visit: Asking,
  { request, cause, code: error, endedAt }: FailureOutcome,
): OutcomeHandling {
  if (cause === 'withdrawn') return NO_PAGE;
  if (cause === 'forbidden-address') return { ...NO_PAGE, queueDrop: ALL_BLOCKED };
  const none = { status: null, retryAfterMs: null };
  const answer: RobotsAnswer = { kind: 'unreachable', reason: error, error, ...none };
  return robotsEnded(parts, visit, { request, answer, endedAt });
}
