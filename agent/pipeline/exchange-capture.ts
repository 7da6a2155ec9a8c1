// Builds the archive record of an exchange, and the outcome of a page that could not be archived.

import type { ArchivedPayload, Capture } from '../archive/record/capture.ts';
import type { PageRequest } from '../core/protocol/effects.ts';
import type { Outcome } from '../core/protocol/outcome.ts';
import type { FetchResponse, RawExchange } from '../fetch/fetch.ts';

/**
 * The metadata shows readers of the archive the referrer, depth, attempt and duration; a test of the
 * host has only the duration.
 *
 * @param previous - the payload of the page in this agent's archive; null: none
 */
export function captureOf(
  request: PageRequest,
  response: FetchResponse,
  raw: RawExchange,
  previous: ArchivedPayload | null,
): Capture {
  const { ip, status, contentType, durationMs, endedAt } = response;
  const { url, requestHead, responseHead, truncated } = raw;
  const metadata: [string, string][] = [];
  if (request.kind === 'page') {
    if (request.referrer !== undefined) metadata.push(['via', request.referrer]);
    // A test is no attempt of the crawl at the page, and has the depth of the URL in doubt.
    if (!request.isTest) {
      metadata.push(['depth', String(request.depth)], ['attempt', String(request.attempts + 1)]);
    }
  }
  metadata.push(['fetchTimeMs', String(Math.round(durationMs))]);
  return {
    ...{ url, ip, startedAt: endedAt - durationMs, requestHead, responseHead },
    ...{ status, contentType, truncated, metadata },
    ...(previous && { previous }),
  };
}

/** A page without an archive record must not count as done, so its request counts as cancelled. */
export function unarchived(request: PageRequest, response: FetchResponse): Outcome {
  const { ip, durationMs, endedAt } = response;
  const message = 'the archive accepts no more records';
  const ended = { request, ip, durationMs, endedAt };
  return { kind: 'failure', ...ended, code: 'aborted', message, cause: 'withdrawn' };
}
