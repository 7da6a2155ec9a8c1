// Revalidates pages of an earlier round with conditional requests (RFC 9110, section 13), by entity
// tag and modification date. A 304 repeats the previous page record, whose links are known. Pure.

import type { PageRequest } from '../core/protocol/effects.ts';
import type { PageRow } from '../core/protocol/messages.ts';
import type { ResponseOutcome } from '../core/protocol/outcome.ts';
import type { FetchResponse } from '../fetch/fetch.ts';
import type { RobotsDirectives } from '../parse/page/robots-directives.ts';
import { PACKED_SITEMAP, XML } from './page-links.ts';

/** Limits of the validators kept, in characters: they are stored and sent with each page record. */
const ETAG_CHARS_MAX = 256;
const DATE_CHARS_MAX = 64;

export const UNCHANGED = { unchanged: true } as const;

/**
 * The conditional headers of a request. None if the page must be read whole: the previous response
 * was incomplete or not 200, the agent's archive lacks its body, or it may have been read as a page
 * before something named it as a sitemap.
 *
 * @param hasBody - whether the body need not be archived: it is, or there is no archive
 */
export function conditionsOf(
  { kind, fetchUrl, sitemap = false, previous }: PageRequest,
  hasBody: boolean,
): Readonly<Record<string, string>> {
  if (kind !== 'page' || !previous || !hasBody) return {};
  const { status, error, digest, contentType, etag, lastModified } = previous;
  if (status !== 200 || error !== null || digest === null) return {};
  const hadLinks = !sitemap || XML.test(contentType ?? '') || PACKED_SITEMAP.test(fetchUrl);
  if (!hadLinks) return {};
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(lastModified !== undefined && { 'if-modified-since': lastModified }),
  };
}

/** The validators of a response, for the next round. */
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

/**
 * The outcome of a 304: the previous page record with new times. Its links stay valid.
 *
 * @param header - the directives of its X-Robots-Tag, which are added to those of the record
 */
export function notModified(
  request: PageRequest,
  previous: PageRow,
  response: FetchResponse,
  header: RobotsDirectives,
): ResponseOutcome {
  const { retryAfterMs, ip, durationMs, endedAt } = response;
  const { status, contentType, bytes, digest, redirectTo, error: note } = previous;
  const { canonical, etag, lastModified } = previous;
  return {
    ...{ kind: 'response', request, ip, durationMs, endedAt },
    ...{ status: status ?? response.status, contentType, bytes, digest, redirectTo, note },
    ...{ retryAfterMs, truncated: false, simhash: null, links: [], outOfScope: 0 },
    ...(canonical !== undefined && { canonical }),
    ...((previous.noindex || header.noindex) && { noindex: true }),
    ...((previous.noarchive || header.noarchive) && { noarchive: true }),
    ...(etag !== undefined && { etag }),
    ...(lastModified !== undefined && { lastModified }),
    ...validatorsOf(response),
    ...UNCHANGED,
    linksStand: true,
  };
}
