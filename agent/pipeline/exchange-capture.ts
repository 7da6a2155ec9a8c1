// What the archive is given of an exchange, and the outcome of a page that the archive did not take.

import type { Capture } from '../archive/record/capture.ts';
import type { PageRequest } from '../core/protocol/effects.ts';
import type { Outcome } from '../core/protocol/outcome.ts';
import type { FetchResponse, RawExchange } from '../fetch/fetch.ts';
import { archivedOf } from './revalidation.ts';

/** How far down and from where, how long and at which attempt: for readers of the archive. */
export function captureOf(
  request: PageRequest,
  response: FetchResponse,
  raw: RawExchange,
): Capture {
  const { ip, status, contentType, durationMs, endedAt } = response;
  const { url, requestHead, responseHead, truncated } = raw;
  const metadata: [string, string][] = [];
  if (request.kind === 'page') {
    if (request.referrer !== undefined) metadata.push(['via', request.referrer]);
    metadata.push(['depth', String(request.depth)], ['attempt', String(request.attempts + 1)]);
  }
  metadata.push(['fetchTimeMs', String(Math.round(durationMs))]);
  const heads = { requestHead, responseHead };
  const startedAt = endedAt - durationMs;
  const former = archivedOf(request);
  return {
    ...{ url, ip, startedAt, ...heads, status, contentType, truncated, metadata },
    ...(former && { former }),
  };
}

/** A page without its record may not count as done: as if this agent had given it up. */
export function unarchived(request: PageRequest, response: FetchResponse): Outcome {
  const { ip, durationMs, endedAt } = response;
  const message = 'the archive takes nothing more';
  const ended = { request, ip, durationMs, endedAt };
  return { kind: 'failure', ...ended, code: 'aborted', message, cause: 'withdrawn' };
}
