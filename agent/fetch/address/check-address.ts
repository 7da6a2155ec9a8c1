/**
 * Would the crawler connect to this? Takes what a person types (a URL, a host, an address) down
 * the same road as a fetch: the URL parser, the scheme, the port, the guard on literals, then the guard on
 * what a name resolves to. `ubiring check address` prints the verdict; the published case table
 * is run through it.
 */

import { isIP } from 'node:net';
import { parseCrawlUrl } from '../../url/crawl-url.ts';
import type { AddressGuard } from './address-guard.ts';
import type { Lookup } from './dial.ts';

export interface AddressVerdict {
  readonly blocked: boolean;
  /** Why, or null where it is not blocked. */
  readonly reason: string | null;
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** What follows is read as a host by the URL parser, `http:127` too: never a host and its port. */
const WEB_SCHEME = /^https?:/i;
/** `host:80` and `[::1]:80` look like a scheme or an address, and are neither. */
const HOST_AND_PORT = /^(?:[^:/?#[\]]+|\[[^\]]*\]):\d+(?:[/?#]|$)/;

/**
 * @param lookup resolves names; without it a name that needs DNS is judged by name alone.
 * @returns the verdict of a first connection. A name that does not resolve is not blocked: there
 * is nothing to connect to.
 */
export async function checkAddress(
  input: string,
  guard: AddressGuard,
  lookup?: Lookup,
): Promise<AddressVerdict> {
  const text = asParsed(input);
  if (isIP(text) !== 0) {
    return verdict(guard.blocked(text));
  }
  const isUrl = WEB_SCHEME.test(text) || (SCHEME.test(text) && !HOST_AND_PORT.test(text));
  const url = URL.parse(isUrl ? text : `http://${text}`);
  if (url === null) {
    return verdict('not a URL, host or address');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return verdict(`scheme ${url.protocol.slice(0, -1)}`);
  }
  if ('refused' in parseCrawlUrl(url.href)) {
    return verdict('no host has such a name');
  }
  const literal = guard.checkUrl(url);
  if (literal !== null || lookup === undefined || url.hostname.startsWith('[')) {
    return verdict(literal);
  }
  const addresses = await lookup(url.hostname).catch(() => []);
  const reasons = addresses.map(({ address }) => guard.blocked(address));
  // The dialer tries the remaining ones, so one good address is enough.
  return verdict(reasons.includes(null) ? null : (reasons[0] ?? null));
}

/**
 * The text that the URL parser reads: it removes tabs and line breaks everywhere, and control
 * characters and blanks at both ends (WHATWG URL, basic URL parser, steps 1 to 3).
 */
function asParsed(input: string): string {
  const isControlOrBlank = (at: number) => input.charCodeAt(at) <= 0x20;
  let start = 0;
  let end = input.length;
  while (start < end && isControlOrBlank(start)) start++;
  while (end > start && isControlOrBlank(end - 1)) end--;
  return input.slice(start, end).replace(/[\t\n\r]/g, '');
}

function verdict(reason: string | null): AddressVerdict {
  return { blocked: reason !== null, reason };
}
