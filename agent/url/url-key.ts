// The short form in which SQLite stores an identity. Rows are clustered by host, so the key is `h`
// or `s` for the scheme and the text after the host. `splitIdentity` also validates URLs from
// peers: they must be canonical, because a second spelling would become a second row.

import { type Identity, parseCrawlUrl, type RequestForm } from './crawl-url.ts';

/**
 * Matches nearly all identities, without a parser: lower-case labels that need no IDNA, the last of
 * which cannot be a number; no port, no escapes, no dot segments. A label cannot contain the dot that
 * ends it, and a segment no slash, so matching takes linear time.
 */
const PLAINLY_CANONICAL = new RegExp(
  String.raw`^https?:\/\/(?:(?!xn--)[a-z0-9_-]+\.)*(?!xn--)[a-z][a-z0-9_-]*` +
    String.raw`(?:\/(?!\.{1,2}(?:[/?]|$))[A-Za-z0-9._~-]*)+` +
    String.raw`(?:\?[A-Za-z0-9._~=&+-]*)?$`,
);

/**
 * @param identity - canonical form of a URL of `host`
 * @returns `h/path`, `s:8443/x?y`, or `h./path` if the host was written with a trailing dot
 */
export function urlKey(identity: Identity, host: string): string {
  return identity.startsWith('https')
    ? `s${identity.slice('https://'.length + host.length)}`
    : `h${identity.slice('http://'.length + host.length)}`;
}

/** Inverse of `urlKey`. */
export function identityOf(host: string, key: string): Identity {
  return `${key.startsWith('s') ? 'https' : 'http'}://${host}${key.slice(1)}`;
}

/**
 * Splits an identity into host and key.
 *
 * @returns null unless `identity` is exactly the canonical form
 */
export function splitIdentity(identity: string): { host: string; key: string } | null {
  if (PLAINLY_CANONICAL.test(identity)) {
    const from = identity.indexOf('/') + 2;
    const host = identity.slice(from, identity.indexOf('/', from));
    return { host, key: urlKey(identity, host) };
  }
  const url = parseCrawlUrl(identity);
  if ('refused' in url || url.identity !== identity) return null;
  return { host: url.host, key: urlKey(identity, url.host) };
}

/**
 * Whether `fetchUrl` has the scheme, host and port of `identity`. Forms from a peer are checked: a
 * form with another host would be requested under the fetch right, the delay and the robots.txt of
 * the host of `identity`.
 */
export function hasOriginOf(identity: Identity, fetchUrl: RequestForm): boolean {
  const path = identity.indexOf('/', identity.indexOf('://') + 3);
  return path > 0 && fetchUrl.startsWith(identity.slice(0, path + 1));
}
