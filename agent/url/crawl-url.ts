// What a URL is to the crawl. Every link, seed and redirect goes through `parseCrawlUrl`, which
// gives its identity (what the databases of all agents key on), the form to request, and the host
// that decides ownership and politeness. The identity is the WHATWG serialisation without fragment
// and userinfo, with the escapes brought to one spelling (RFC 3986, section 6.2.2). A change here
// orphans every row ever stored: raise `CANONICAL_FORM_VERSION` with it, so that agents of both
// kinds refuse each other.

/** Compared between agents at HELLO: two canonical forms in one cluster would lose URLs. */
export const CANONICAL_FORM_VERSION = 1;

/**
 * Longer URLs are neither kept nor read: no server's request line takes them, frames to peers have a
 * cap, and V8 tells texts above 16 Ki apart by nothing but their length, and then character by
 * character: a map of thousands of them takes minutes.
 */
export const URL_CHARS_MAX = 8000;

declare const spelling: unique symbol;

/**
 * The canonical form of a URL: what tables, filters and other agents know it by. No request is made
 * of it and no rule about requests is asked with it. The compiler refuses it where a `RequestForm` is
 * wanted, and the other way round; a plain string, such as a literal, passes as either.
 */
export type Identity = string & { readonly [spelling]?: 'identity' };

/** The form of a URL that a request carries. robots.txt, scope and length judge this form. */
export type RequestForm = string & { readonly [spelling]?: 'form' };

/** A URL with both its spellings; `fetchUrl` is absent where the request carries the identity. */
export interface SpelledUrl {
  readonly url: Identity;
  readonly fetchUrl?: RequestForm;
}

/** A URL that can be crawled. */
export interface CrawlUrl {
  /** Canonical form; parsing it again gives itself. */
  readonly identity: Identity;
  /** What to request: the spelling as found, without fragment and userinfo. */
  readonly fetchUrl: RequestForm;
  /** `URL.hostname` (IPv6 in brackets, punycode) with one trailing dot removed. */
  readonly host: string;
}

/**
 * Why a text is no crawlable URL: `syntax`: it does not parse; `scheme`: neither http nor https;
 * `host`: the host name has an empty label, so it can never be resolved.
 */
export type UrlRefusal = 'syntax' | 'scheme' | 'host';

/** Some escape is written in a way that `normaliseEscapes` would change. */
const ESCAPE_TO_CHANGE =
  /%(?:2[DEde]|3\d|4[1-9A-Fa-f]|5[\dAaFf]|6[1-9A-Fa-f]|7[\dAaEe]|[\da-fA-F][a-f]|[a-f][\da-fA-F])/;
const UNRESERVED = /[A-Za-z0-9._~-]/;
const HEX_PAIR = /^[\da-fA-F]{2}$/;

/**
 * Parses a URL, relative to `base` if one is given.
 *
 * @param text - as written in a page, config file or header; surrounding white space is allowed
 * @param base - an absolute URL; a base that does not parse refuses everything as `syntax`
 * @returns the URL, or why it is refused; never throws
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

/** The form that a request for the URL carries. */
export function formOf({ url, fetchUrl }: SpelledUrl): RequestForm {
  return fetchUrl ?? asForm(url);
}

/** An identity as a form: of a URL that was found in its canonical spelling. */
export function asForm(identity: Identity): RequestForm {
  return identity as string;
}

/** The URL with its spellings as they are stored and sent: the form only where it differs. */
export function spelled({ identity: url, fetchUrl }: Pick<CrawlUrl, 'identity' | 'fetchUrl'>) {
  return String(fetchUrl) === url ? { url } : { url, fetchUrl };
}

function requestForm(url: URL): string {
  if (url.username !== '' || url.password !== '') {
    url.username = '';
    url.password = '';
  }
  const href = url.href;
  // Everything else that a `#` could stand in is escaped, so the first one opens the fragment.
  const hash = href.indexOf('#');
  return hash < 0 ? href : href.slice(0, hash);
}

function normalise(href: string): string {
  const spelled = normaliseEscapes(href);
  // Decoding `%%32e` and the like can spell a dot segment that the first parse did not see.
  return spelled.includes('/.') ? (URL.parse(spelled)?.href ?? spelled) : spelled;
}

/**
 * Decodes escaped unreserved characters and writes the hexadecimal digits of the other escapes in
 * upper case. Malformed escapes can spell a new one when their neighbour is decoded (`%%361`), so
 * the end of the output is looked at again after each character: one linear pass that leaves
 * nothing for a second.
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
