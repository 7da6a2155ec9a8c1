/**
 * Tells whether the crawler would connect to a URL, host or address that a user enters. The input
 * passes the same checks as a fetch: URL parser, scheme, port, literal address, then the addresses
 * to which a name resolves.
 */

import { isIP } from 'node:net';
import { parseCrawlUrl } from '../../url/crawl-url.ts';
import type { AddressGuard } from './address-guard.ts';
import type { Lookup } from './dial.ts';

export interface AddressVerdict {
  readonly blocked: boolean;
  /** Null if it is not blocked. */
  readonly reason: string | null;
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/**
 * The URL parser reads the rest as a host, even in `http:127`, so this is never a host and port.
 */
const WEB_SCHEME = /^https?:/i;
/** `host:80` and `[::1]:80` look like a scheme or an address but are neither. */
const HOST_AND_PORT = /^(?:[^:/?#[\]]+|\[[^\]]*\]):\d+(?:[/?#]|$)/;

/**
 * @param lookup resolves names; without it names are not resolved, and only the name itself is
 * checked.
 * @returns the verdict on a first connection. A name that does not resolve is not blocked, because
 * there is nothing to connect to.
 */
export async function checkAddress(
  input: string,
  guard: AddressGuard,
  lookup?: Lookup,
): Promise<AddressVerdict> {
  const text = asParsed(input);
  if (isIP(text) !== 0) return verdict(guard.blocked(text));
  const isUrl = WEB_SCHEME.test(text) || (SCHEME.test(text) && !HOST_AND_PORT.test(text));
  const url = URL.parse(isUrl ? text : `http://${text}`);
  if (url === null) return verdict('not a URL, host or address');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return verdict(`scheme ${url.protocol.slice(0, -1)}`);
  }
  if ('refused' in parseCrawlUrl(url.href)) return verdict('not a valid host name');
  const literal = guard.checkUrl(url);
  if (literal !== null || lookup === undefined || url.hostname.startsWith('[')) {
    return verdict(literal);
  }
  const addresses = await lookup(url.hostname).catch(() => []);
  const reasons = addresses.map(({ address }) => guard.blocked(address));
  // The dialer uses any allowed address, so one is enough.
  return verdict(reasons.includes(null) ? null : (reasons[0] ?? null));
}

/**
 * The text as the URL parser reads it: tabs and line breaks are removed everywhere, control
 * characters and spaces at both ends (WHATWG URL, basic URL parser, steps 1 to 3).
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
