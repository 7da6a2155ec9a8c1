// What a failed fetch means for the visits: whether the connection, the exchange or this agent
// itself was the cause. Used by the page pipeline for pages and for robots.txt.

import type { PageRequest } from '../core/protocol/effects.ts';
import type { FailureOutcome, Outcome } from '../core/protocol/outcome.ts';
import type { FetchFailureCode, FetchResult } from '../fetch/fetch.ts';

/** What each failure says about the host. */
export const CAUSES: Readonly<Record<FetchFailureCode, FailureOutcome['cause']>> = {
  dns: 'connection',
  connect_refused: 'connection',
  connect_timeout: 'connection',
  connect_failed: 'connection',
  tls: 'connection',
  response_timeout: 'no-answer',
  total_timeout: 'no-answer',
  reset: 'no-answer',
  http_syntax: 'exchange',
  headers_too_large: 'exchange',
  body_encoding: 'exchange',
  truncated_body: 'exchange',
  unexpected: 'exchange',
  blocked_address: 'forbidden-address',
  no_right: 'withdrawn',
  aborted: 'withdrawn',
};

/** No connection came about. */
export const UNREACHABLE: ReadonlySet<FetchFailureCode> = new Set([
  'connect_refused',
  'connect_timeout',
  'connect_failed',
]);

/** Causes that say nothing about the server. */
export const GIVEN_UP: ReadonlySet<FailureOutcome['cause']> = new Set([
  'withdrawn',
  'forbidden-address',
]);

/** A request that brought no response. */
export function failureOutcome(
  request: PageRequest,
  result: Extract<FetchResult, { kind: 'failure' }>,
): Outcome {
  const { code, message, ip, durationMs, endedAt } = result;
  return { kind: 'failure', request, code, message, cause: CAUSES[code], ip, durationMs, endedAt };
}
