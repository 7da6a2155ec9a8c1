// The short form in which SQLite stores an identity. Rows are clustered by host, so the host need
// not be repeated: the key is `h` or `s` for the scheme, and what follows the host. Storage makes
// and resolves keys; messaging and storage use `splitIdentity` to look at URLs that come from
// peers, which must be canonical already (a second spelling would be a second row).

import { type Identity, parseCrawlUrl, type RequestForm } from './crawl-url.ts';

/**
 * The shape that nearly all identities have, in which no parser would change anything: lower-case
 * labels that need no IDNA and whose last cannot be a number, no port, no escapes, no dot
 * segments. Every alternative begins with a character that the others exclude, so matching is
 * linear.
 */
const PLAINLY_CANONICAL = new RegExp(
  String.raw`^https?:\/\/((?:(?!xn--)[a-z0-9_-]+\.)*(?!xn--)[a-z][a-z0-9_-]*)` +
    String.raw`(?:\/(?!\.{1,2}(?:[/?]|$))[A-Za-z0-9._~-]*)+` +
    String.raw`(?:\?[A-Za-z0-9._~=&+-]*)?$`,
);

/**
 * The key of an identity among those of its host.
 *
 * @param identity - canonical form of a URL of `host`
 * @returns `h/path`, `s:8443/x?y`, or `h./path` where the host was written with a trailing dot
 */
export function keyOf(identity: Identity, host: string): string {
  return identity.startsWith('https')
    ? `s${identity.slice('https://'.length + host.length)}`
    : `h${identity.slice('http://'.length + host.length)}`;
}

/** The identity that `keyOf` gave `key` for. */
export function identityOf(host: string, key: string): Identity {
  return `${key.startsWith('s') ? 'https' : 'http'}://${host}${key.slice(1)}`;
}

/**
 * Takes an identity apart.
 *
 * @returns null unless `identity` is exactly what `parseCrawlUrl` would make of it
 */
export function splitIdentity(identity: string): { host: string; key: string } | null {
  const plain = PLAINLY_CANONICAL.exec(identity);
  if (plain !== null) return { host: plain[1]!, key: keyOf(identity, plain[1]!) };
  const url = parseCrawlUrl(identity);
  if ('refused' in url || url.identity !== identity) return null;
  return { host: url.host, key: keyOf(identity, url.host) };
}

/**
 * Whether a request for `fetchUrl` goes to the scheme, host and port of `identity`. Forms that come
 * from a peer are checked: one of another host would be requested with the right, the delay and the
 * robots.txt of the host of `identity`.
 */
export function hasOriginOf(identity: Identity, fetchUrl: RequestForm): boolean {
  const path = identity.indexOf('/', identity.indexOf('://') + 3);
  return path > 0 && fetchUrl.startsWith(identity.slice(0, path + 1));
}
