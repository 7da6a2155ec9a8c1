// From hrefs as written to URLs as crawled: resolved against the page's base, escaped in the
// page's encoding, each identity once. A page may have far more links than anyone means, so their
// number has a bound, and what lies beyond it is counted, not lost in silence.

import {
  type Identity,
  parseCrawlUrl,
  type RequestForm,
  URL_CHARS_MAX,
} from '../../url/crawl-url.ts';
import { encodeQuery } from '../text/charset.ts';
import type { PageScan } from './page-scan.ts';

/**
 * Of all links of a page: 400 for each of the 10,000 that one may have. A page can name a base that is
 * much longer than its links, and so have far more characters in its links than in itself.
 */
const CHARS_MAX = 4_000_000;

/**
 * Characters read while the links of a page are resolved, the base anew for each link: some tenths of
 * a second. The largest ordinary pages need a tenth of it.
 */
const RESOLVED_CHARS_MAX = 40_000_000;

/** One URL that the page leads to. */
export interface PageLink {
  readonly identity: Identity;
  /** Form to request; null: the same as the identity, which saves copying it between threads. */
  readonly fetchUrl: RequestForm | null;
  readonly host: string;
}

/** The links of one page, resolved. */
interface ResolvedLinks {
  /** In document order, each identity once. */
  readonly links: PageLink[];
  /**
   * Spellings left unread once `linksMax` links, or 4,000,000 characters of them, were found, or
   * 40,000,000 characters of bases and spellings were read.
   */
  readonly linksDropped: number;
  /** Spellings of URLs above 8000 characters. */
  readonly tooLong: number;
  /** Spellings that are no crawlable URL: other schemes, bad syntax, impossible hosts. */
  readonly refused: number;
  /** The URL that relative links are resolved against. */
  readonly base: string;
  /** Identity of the refresh target, null if there is none that can be crawled. */
  readonly refresh: string | null;
  /** Identity that the page gives as its own, null if there is none that can be crawled. */
  readonly canonical: string | null;
}

/**
 * @param url - of the page; if it is not absolute, neither base nor links can be relative
 * @param charset - as `charsetOf` gives it
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

/** A base that does not parse, or could only hold data or script, is as if it were not there. */
function baseUrl(href: string, url: string, charset: string): string {
  const base = URL.parse(encodeQuery(href, charset), URL.canParse(url) ? url : undefined);
  if (base === null || base.protocol === 'data:' || base.protocol === 'javascript:') return url;
  return base.href;
}
