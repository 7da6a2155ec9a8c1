// Interprets the result of a robots.txt request (RFC 9309, section 2.3.1): rules to obey, no rules,
// a redirect, or no access until the file has been read. The caller follows redirects and waits,
// within the host's politeness delay.

import { parseCrawlUrl, type RequestForm } from '../url/crawl-url.ts';

export type RobotsFetch =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly body: Uint8Array;
      /** Location header of a redirect; may be relative. */
      readonly location: string | null;
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: 'failure'; readonly code: string };

/**
 * The 4xx statuses that do not say whether the file exists: the first three ask the client to
 * repeat the request (RFC 9110, 15.5.9 and 15.5.20; RFC 8470, 5.2), the last to send fewer
 * requests. They count as unreachable.
 */
const NOT_NOW: ReadonlySet<number> = new Set([408, 421, 425, 429]);

export type RobotsAccess =
  | { readonly kind: 'rules'; readonly body: Uint8Array }
  /** All URLs of the origin are allowed. */
  | { readonly kind: 'allowAll'; readonly reason: string }
  /** Request this URL instead: absolute, in request form, http or https. */
  | { readonly kind: 'redirect'; readonly location: RequestForm; readonly host: string }
  /** No URL of the origin is allowed; retry later. */
  | {
      readonly kind: 'unreachable';
      readonly reason: string;
      /** Error code if there was no response. */
      readonly error: string | null;
      readonly status: number | null;
      /** The wait that the server asked for; null: the caller decides. */
      readonly retryAfterMs: number | null;
    };

/**
 * Interprets one result. A redirect without a valid target counts as a missing file, as the RFC
 * allows; otherwise the host would be blocked for ever. The caller limits the number of redirects.
 *
 * @param fetched - the result of the request for `url`
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
 * Returns the URL of the robots.txt that applies to a URL: one file for each scheme, host and port
 * (section 2.3).
 *
 * @param url - absolute http or https URL in request form, so without userinfo
 */
export function robotsUrlOf(url: string): RequestForm {
  return new URL('/robots.txt', url).href;
}
