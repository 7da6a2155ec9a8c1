// Turns the links of a page, as written, into URLs to crawl: resolved against the base of the page,
// escaped in its encoding, and without duplicates. The number of links of one page is limited, and
// links beyond the limit are counted.

import {
  type Identity,
  parseCrawlUrl,
  type RequestForm,
  URL_CHARS_MAX,
} from '../../url/crawl-url.ts';
import { encodeQuery } from '../text/charset.ts';
import type { PageScan } from './page-scan.ts';

/**
 * Limit on the characters of all URLs of one page: 400 for each of 10,000 links. With a long base,
 * the resolved links may be far longer than the page itself.
 */
const CHARS_MAX = 4_000_000;

/**
 * Limit on the characters read to resolve the links of one page, where the base counts again for
 * each: some tenths of a second of CPU time. Large ordinary pages need a tenth of it.
 */
const RESOLVED_CHARS_MAX = 40_000_000;

/** One URL that the page links to. */
export interface PageLink {
  readonly identity: Identity;
  /** Form to request; null if it equals the identity, which saves copying it between threads. */
  readonly fetchUrl: RequestForm | null;
  readonly host: string;
}

interface ResolvedLinks {
  /** In document order, without duplicates. */
  readonly links: PageLink[];
  /** Hrefs not resolved because of `linksMax` or a limit of this file or the scanner. */
  readonly linksDropped: number;
  /** Hrefs whose URL is longer than `URL_CHARS_MAX`. */
  readonly tooLong: number;
  /** Hrefs that are not crawlable URLs: other schemes, invalid syntax, impossible hosts. */
  readonly refused: number;
  /** The URL that relative links are resolved against. */
  readonly base: string;
  /** Identity of the meta refresh target; null if there is none, or it is not crawlable. */
  readonly refresh: string | null;
  /** Identity of the canonical URL; null if there is none, or it is not crawlable. */
  readonly canonical: string | null;
}

/**
 * @param url - of the page. If it is not absolute, relative links are refused unless the page has
 *   an absolute base.
 * @param charset - as returned by `charsetOf`
 */
export function resolveLinks(
  scan: PageScan,
  url: string,
  charset: string,
  linksMax: number,
): ResolvedLinks {
  const base = scan.base === null ? url : baseUrl(scan.base, url, charset);
  const root = URL.canParse(base) ? base : undefined;
  const resolve = (href: string) => parseCrawlUrl(encodeQuery(href, charset), root);
  const identityOf = (href: string | null) => {
    const url = href === null ? null : resolve(href);
    return url === null || 'refused' in url ? null : url.identity;
  };
  const links = new Map<string, PageLink>();
  let refused = 0;
  let tooLong = 0;
  let chars = 0;
  let resolvedChars = 0;
  let linksDropped = scan.directives.nofollow ? 0 : scan.hrefs.size + scan.hrefsDropped;
  for (const href of scan.directives.nofollow ? [] : scan.hrefs) {
    if (links.size >= linksMax || chars >= CHARS_MAX) break;
    resolvedChars += base.length + href.length;
    if (resolvedChars > RESOLVED_CHARS_MAX) break;
    linksDropped--;
    const link = resolve(href);
    if ('refused' in link) {
      refused++;
      continue;
    }
    const { identity, fetchUrl, host } = link;
    const longest = Math.max(identity.length, fetchUrl.length);
    if (longest > URL_CHARS_MAX) {
      tooLong++;
      continue;
    }
    if (links.has(identity)) continue;
    chars += longest;
    links.set(identity, {
      identity,
      fetchUrl: String(fetchUrl) === identity ? null : fetchUrl,
      host,
    });
  }
  return {
    links: [...links.values()],
    linksDropped,
    tooLong,
    refused,
    base,
    refresh: identityOf(scan.refresh),
    canonical: identityOf(scan.canonical),
  };
}

/** A base that does not parse, or has a `data:` or `javascript:` URL, is ignored. */
function baseUrl(href: string, url: string, charset: string): string {
  const base = URL.parse(encodeQuery(href, charset), URL.canParse(url) ? url : undefined);
  if (base === null || base.protocol === 'data:' || base.protocol === 'javascript:') return url;
  return base.href;
}
