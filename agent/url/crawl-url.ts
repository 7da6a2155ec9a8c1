// Parses URLs for the crawl. Every link, seed and redirect goes through `parseCrawlUrl`. It gives
// the identity (the key in the databases of all agents), the form to request, and the host that
// decides ownership and politeness. The identity is the WHATWG serialisation without fragment and
// userinfo, with escapes normalised (RFC 3986, section 6.2.2). A change of the identity orphans
// every stored row: increment `CANONICAL_FORM_VERSION` with it, so that agents with different
// versions refuse each other.

/** Compared between agents at HELLO, because two canonical forms in one cluster would lose URLs. */
export const CANONICAL_FORM_VERSION = 1;

/**
 * Limit on URLs, in characters. Longer ones are neither stored nor fetched: servers refuse such
 * request lines, frames between agents are limited, and V8 hashes strings above 16 Ki characters by
 * length only, so a map of thousands of them takes minutes.
 */
export const URL_CHARS_MAX = 8000;

declare const spelling: unique symbol;

/**
 * The canonical form of a URL: its key in tables, in filters and between agents. It is never
 * requested, and rules about requests are not applied to it. The compiler refuses it where a
 * `RequestForm` is expected, and vice versa; a plain string passes as either.
 */
export type Identity = string & { readonly [spelling]?: 'identity' };

/** The form of a URL that a request uses. Rules of robots.txt, scope and length apply to it. */
export type RequestForm = string & { readonly [spelling]?: 'form' };

/** A URL in both forms; `fetchUrl` is absent if the request uses the identity. */
export interface SpelledUrl {
  readonly url: Identity;
  readonly fetchUrl?: RequestForm;
}

/** A URL that can be crawled. */
export interface CrawlUrl {
  /** Canonical form. Parsing it gives the same identity. */
  readonly identity: Identity;
  /** The URL to request: as found, without fragment and userinfo. */
  readonly fetchUrl: RequestForm;
  /** `URL.hostname` (IPv6 in brackets, punycode) with one trailing dot removed. */
  readonly host: string;
}

/**
 * Why a text is not a crawlable URL. `syntax`: it does not parse. `scheme`: it is neither http nor
 * https. `host`: the host name has an empty label, so it cannot be resolved.
 */
export type UrlRefusal = 'syntax' | 'scheme' | 'host';

/** Matches if `normaliseEscapes` would change an escape. */
const ESCAPE_TO_CHANGE =
  /%(?:2[DEde]|3\d|4[1-9A-Fa-f]|5[\dAaFf]|6[1-9A-Fa-f]|7[\dAaEe]|[\da-fA-F][a-f]|[a-f][\da-fA-F])/;
const UNRESERVED = /[A-Za-z0-9._~-]/;
const HEX_PAIR = /^[\da-fA-F]{2}$/;

/**
 * Parses a URL, relative to `base` if one is given. Never throws.
 *
 * @param text - as written in a page, config file or header; surrounding white space is allowed
 * @param base - an absolute URL; if it does not parse, the result is `syntax`
 * @returns the URL, or why it is refused
 */
export function parseCrawlUrl(
  text: string,
  base?: string | URL,
): CrawlUrl | { readonly refused: UrlRefusal } {
  const url = URL.parse(text, base instanceof URL ? base.href : base);
  if (url === null) return { refused: 'syntax' };
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { refused: 'scheme' };
  const hostname = url.hostname;
  const host = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  if (host === '' || host.startsWith('.') || host.endsWith('.') || host.includes('..')) {
    return { refused: 'host' };
  }
  const fetchUrl = requestForm(url);
  const identity = ESCAPE_TO_CHANGE.test(fetchUrl) ? normalise(fetchUrl) : fetchUrl;
  return { identity, fetchUrl, host };
}

/** @returns the form that a request for the URL uses */
export function formOf({ url, fetchUrl }: SpelledUrl): RequestForm {
  return fetchUrl ?? asForm(url);
}

/** @returns the identity as request form, for a URL that was found in its canonical form */
export function asForm(identity: Identity): RequestForm {
  return identity as string;
}

/** @returns the URL as it is stored and sent: with `fetchUrl` only if it differs */
export function spelled({ identity: url, fetchUrl }: Pick<CrawlUrl, 'identity' | 'fetchUrl'>) {
  return String(fetchUrl) === url ? { url } : { url, fetchUrl };
}

function requestForm(url: URL): string {
  if (url.username !== '' || url.password !== '') {
    url.username = '';
    url.password = '';
  }
  const href = url.href;
  // A `#` is escaped everywhere else, so the first one begins the fragment.
  const hash = href.indexOf('#');
  return hash < 0 ? href : href.slice(0, hash);
}

function normalise(href: string): string {
  const spelled = normaliseEscapes(href);
  // Decoding `%%32e` and the like can form a dot segment that the first parse did not see.
  return spelled.includes('/.') ? (URL.parse(spelled)?.href ?? spelled) : spelled;
}

/**
 * Decodes escaped unreserved characters and writes the hexadecimal digits of other escapes in upper
 * case. Decoding the neighbour of a malformed escape can form a new escape (`%%361`), so the end of
 * the output is checked after each character. One linear pass is enough: a second pass would change
 * nothing.
 */
function normaliseEscapes(text: string): string {
  const out: string[] = [];
  for (const char of text) {
    out.push(char);
    while (out.length > 2 && out[out.length - 3] === '%') {
      const pair = out[out.length - 2]! + out[out.length - 1]!;
      if (!HEX_PAIR.test(pair)) break;
      const decoded = String.fromCharCode(Number.parseInt(pair, 16));
      if (UNRESERVED.test(decoded)) {
        out.length -= 3;
        out.push(decoded);
        continue;
      }
      const upper = pair.toUpperCase();
      out[out.length - 2] = upper[0]!;
      out[out.length - 1] = upper[1]!;
      break;
    }
  }
  return out.join('');
}
