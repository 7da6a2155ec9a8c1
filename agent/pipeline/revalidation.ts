// A page that was known in an earlier round is asked for with what its server gave for the purpose
// (RFC 9110, section 13): its entity tag, and when it was last modified. A 304 then stands for the
// page as it was, whose links are known. A chapter of the page pipeline; pure.

import type { ArchivedPayload } from '../archive/record/capture.ts';
import type { PageRequest } from '../core/protocol/effects.ts';
import type { PageRow } from '../core/protocol/messages.ts';
import type { ResponseOutcome } from '../core/protocol/outcome.ts';
import type { FetchResponse } from '../fetch/fetch.ts';

/** Longer ones are not kept: each is stored and travels with its page. */
const ETAG_CHARS_MAX = 256;
const DATE_CHARS_MAX = 64;

export const UNCHANGED = { unchanged: true } as const;

/**
 * Headers of the request; none where the page is to be read whole: it was not read to the end
 * before, or its archive could not be pointed to.
 */
export function conditionsOf(
  { kind, former }: PageRequest,
  isArchived: boolean,
): Readonly<Record<string, string>> {
  if (kind !== 'page' || !former) return {};
  const { status, error, digest, etag, lastModified, payload } = former;
  if (status !== 200 || error !== null || digest === null) return {};
  if (isArchived && payload === undefined) return {};
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(lastModified !== undefined && { 'if-modified-since': lastModified }),
  };
}

/** What the server can be asked by the next time. */
export function validatorsOf({ status, headers }: Pick<FetchResponse, 'status' | 'headers'>): {
  etag?: string;
  lastModified?: string;
} {
  const { etag, 'last-modified': modified } = headers;
  if (status !== 200 && status !== 304) return {};
  const isTag = typeof etag === 'string' && etag !== '' && etag.length <= ETAG_CHARS_MAX;
  const isDate =
    typeof modified === 'string' && modified !== '' && modified.length <= DATE_CHARS_MAX;
  return { ...(isTag && { etag }), ...(isDate && { lastModified: modified }) };
}

/** The page as it was, asked for now; what it links to is known since then. */
export function notModified(
  request: PageRequest,
  former: PageRow,
  response: FetchResponse,
): ResponseOutcome {
  const { retryAfterMs, ip, durationMs, endedAt } = response;
  const { status, contentType, bytes, digest, redirectTo, error: note } = former;
  const { canonical, noindex, noarchive, etag, lastModified } = former;
  return {
    ...{ kind: 'response', request, ip, durationMs, endedAt },
    ...{ status: status ?? response.status, contentType, bytes, digest, redirectTo, note },
    ...{ retryAfterMs, truncated: false, simhash: null, links: [], outOfScope: 0 },
    ...(canonical !== undefined && { canonical }),
    ...(noindex && { noindex }),
    ...(noarchive && { noarchive }),
    ...(etag !== undefined && { etag }),
    ...(lastModified !== undefined && { lastModified }),
    ...validatorsOf(response),
    ...UNCHANGED,
    linksStand: true,
  };
}

/** The payload that the archive has of the page. */
export function archivedOf({ kind, former, fetchUrl }: PageRequest): ArchivedPayload | undefined {
  const { payload, originalUrl, originalAt } = former ?? {};
  if (kind !== 'page' || payload === undefined || originalAt === undefined) return undefined;
  return { payload, url: originalUrl ?? fetchUrl, at: originalAt };
}
