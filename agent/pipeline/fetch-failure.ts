// Classifies failed fetches by their cause: the connection, the exchange, or this agent itself.

import type { PageRequest } from '../core/protocol/effects.ts';
import type { FailureOutcome, Outcome } from '../core/protocol/outcome.ts';
import type { FetchFailureCode, FetchResult } from '../fetch/fetch.ts';

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

/** Codes of failures to connect. */
export const UNREACHABLE: ReadonlySet<FetchFailureCode> = new Set([
  'connect_refused',
  'connect_timeout',
  'connect_failed',
]);

/** Causes that say nothing about the server: this agent cancelled or refused the request. */
export const GIVEN_UP: ReadonlySet<FailureOutcome['cause']> = new Set([
  'withdrawn',
  'forbidden-address',
]);

export function failureOutcome(
  request: PageRequest,
  result: Extract<FetchResult, { kind: 'failure' }>,
): Outcome {
  const { code, message, ip, durationMs, endedAt } = result;
  return { kind: 'failure', request, code, message, cause: CAUSES[code], ip, durationMs, endedAt };
}
