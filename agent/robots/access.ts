// What an attempt to fetch robots.txt means for the pages of its origin (RFC 9309, section 2.3.1):
// rules to obey, no rules at all, or no access until the file has been seen. The page pipeline
// turns each answer to a robots.txt request into one of these; following redirects and waiting are
// up to the visit, under the host's politeness delay.

import { parseCrawlUrl, type RequestForm } from '../url/crawl-url.ts';

/** The part of a fetch that matters here. */
export type RobotsFetch =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly body: Uint8Array;
      /** Location header of a redirect, possibly relative. */
      readonly location: string | null;
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: 'failure'; readonly code: string };

/**
 * Of 4xx those that say nothing about whether there is a file: the first three ask for a repetition
 * (RFC 9110, 15.5.9 and 15.5.20; RFC 8470, 5.2), the last for fewer requests.
 */
const NOT_NOW: ReadonlySet<number> = new Set([408, 421, 425, 429]);

/** What the caller has to do now. */
export type RobotsAccess =
  | { readonly kind: 'rules'; readonly body: Uint8Array }
  /** Every URL of the origin may be requested. */
  | { readonly kind: 'allowAll'; readonly reason: string }
  /** Ask there: absolute, request form, http or https. */
  | { readonly kind: 'redirect'; readonly location: RequestForm; readonly host: string }
  /** No URL of the origin may be requested; try again later. */
  | {
      readonly kind: 'unreachable';
      readonly reason: string;
      /** Code of the failure where no response came. */
      readonly error: string | null;
      readonly status: number | null;
      /** What the server asked for; null: the caller's own back-off. */
      readonly retryAfterMs: number | null;
    };

/**
 * Reads one answer. 429, 408, 421 and 425 count as unreachable although they are 4xx: they do not
 * say that there are no rules. A redirect that leads nowhere counts as a missing file, as the
 * RFC allows: taking it for unreachable would shut the host out for ever. How many redirects are
 * followed is for the visit to say, which alone knows how many there were.
 *
 * @param fetched - the answer to the request for `url`
 */
export function robotsAccess(fetched: RobotsFetch, url: string): RobotsAccess {
  if (fetched.kind === 'failure') {
    const { code } = fetched;
    return { kind: 'unreachable', reason: code, error: code, status: null, retryAfterMs: null };
  }
  const { status, body, location, retryAfterMs } = fetched;
  if (status >= 200 && status < 300) {
    return body.length > 0 ? { kind: 'rules', body } : { kind: 'allowAll', reason: 'empty' };
  }
  if (status >= 300 && status < 400) {
    const target = location === null ? null : parseCrawlUrl(location, url);
    return target === null || 'refused' in target
      ? { kind: 'allowAll', reason: `status_${status}` }
      : { kind: 'redirect', location: target.fetchUrl, host: target.host };
  }
  const reason = `status_${status}`;
  return status >= 400 && status < 500 && !NOT_NOW.has(status)
    ? { kind: 'allowAll', reason }
    : { kind: 'unreachable', reason, error: null, status, retryAfterMs };
}

/**
 * Where the rules for a URL are: one file for each scheme, host and port (section 2.3).
 *
 * @param url - absolute http or https URL in request form, so without userinfo
 */
export function robotsUrlOf(url: string): RequestForm {
  return new URL('/robots.txt', url).href;
}
