// Derives everything that the crawler needs from the bytes of one page, as a pure function. A body
// that is not HTML has a digest and no links.

import { createHash } from 'node:crypto';
import { shortPrintOf } from '../fingerprint/short-print.ts';
import { simhashOf } from '../fingerprint/simhash.ts';
import type { Sitemap, SitemapOptions } from '../sitemap/sitemap.ts';
import { charsetOf, decode } from '../text/charset.ts';
import { type PageLink, resolveLinks } from './links.ts';
import { type ScanOptions, scanPage } from './page-scan.ts';
import { NO_DIRECTIVES, type RobotsDirectives } from './robots-directives.ts';

/**
 * Limit on the links taken from one page. The largest ordinary pages have some thousands. Each link
 * costs a row at this agent or a peer, and one page must not fill a database.
 */
export const LINKS_MAX = 10_000;

/**
 * Pages with fewer words get no simhash: one changed word would, as likely as not, change more bits
 * than two equal pages may differ by.
 */
export const SIMHASH_WORDS_MIN = 150;

/** A page as received. It is plain data, so that it can be sent to a worker thread. */
export interface PageInput extends Pick<ScanOptions, 'embeds' | 'productToken'> {
  readonly body: Uint8Array;
  /** Content-Type header, or null. */
  readonly contentType: string | null;
  /** Absolute URL that was requested. */
  readonly url: string;
  /** How to treat a body without a usable type: sniff it (the default) or read it as HTML. */
  readonly untyped?: 'sniffed' | 'html';
  /** Limit on the links; default 10,000. */
  readonly linksMax?: number;
  /**
   * Set if the body may be a sitemap or a feed, by its type or because something names it as one.
   */
  readonly sitemap?: Pick<SitemapOptions, 'declared'>;
}

/** The URLs that a sitemap or a feed lists. */
interface ListedUrls extends Pick<Sitemap, 'kind' | 'isPartial'> {
  /** Packed by `packUrls`, without duplicates. */
  readonly urls: Uint8Array<ArrayBuffer>;
  readonly count: number;
}

export interface ParsedPage extends RobotsDirectives {
  /** In document order, without duplicates; none if the page says nofollow. */
  readonly links: readonly PageLink[];
  readonly linksDropped: number;
  /** Hrefs whose URL is longer than the limit of the crawl. */
  readonly tooLong: number;
  /** Hrefs that are not crawlable URLs. */
  readonly refused: number;
  /** As returned by `charsetOf`; `binary` for a body that is not HTML. */
  readonly charset: string;
  readonly base: string;
  /** Identity of the meta refresh target, which is also one of the links. */
  readonly refresh: string | null;
  /** Identity of `link rel=canonical`. */
  readonly canonical: string | null;
  /** `sha256:` and the SHA-256 of the body in hexadecimal. */
  readonly digest: string;
  /** From `simhashOf`, or `shortPrintOf` if there are few words; null if not HTML or too short. */
  readonly simhash: string | null;
  /** Absent for a body that is not a sitemap. A sitemap has no other links. */
  readonly listed?: ListedUrls;
}

/** Parses a page; never throws. */
export function parsePage(input: PageInput): ParsedPage {
  const { body, contentType, url } = input;
  const untyped = input.untyped === 'html' ? 'text/html' : sniffedType(body);
  const type = essenceOf(contentType) ?? untyped;
  const isXml = type !== null && XML_TYPE.test(type);
  if (type !== 'text/html' && !isXml) return unreadPage(input);
  const charset = charsetOf(body, contentType);
  if (isXml && type !== 'application/xhtml+xml') {
    const start = decode(body.subarray(0, PROLOG_BYTES_MAX), charset);
    if (!hasHtmlRoot(start)) return unreadPage(input);
  }
  const text = decode(body, charset);
  const { embeds = false, productToken } = input;
  const scan = scanPage(text, { xhtml: isXml, embeds, productToken });
  const resolved = resolveLinks(scan, url, charset, input.linksMax ?? LINKS_MAX);
  const simhash = simhashOf(text, SIMHASH_WORDS_MIN) ?? shortPrintOf(text, url);
  return { ...resolved, charset, ...scan.directives, digest: digestOf(body), simhash };
}

function digestOf(body: Uint8Array): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`;
}

/** The result for a body that is not parsed as a page. */
export function unreadPage({ body, url }: PageInput): ParsedPage {
  return {
    links: [],
    linksDropped: 0,
    tooLong: 0,
    refused: 0,
    charset: 'binary',
    base: url,
    refresh: null,
    canonical: null,
    ...NO_DIRECTIVES,
    digest: digestOf(body),
    simhash: null,
  };
}

/** Types that count as absent (MIME Sniffing Standard, section 7). */
const UNKNOWN_TYPES = new Set(['unknown/unknown', 'application/unknown']);
/** A type without the semicolon before its parameters is valid; `"text/html"` with quotes is not. */
const MEDIA_TYPE = /^[\w!#$%&'+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?=[;,\s]|$)/;

function essenceOf(contentType: string | null): string | null {
  const essence = MEDIA_TYPE.exec(contentType?.trim().toLowerCase() ?? '')?.[0] ?? null;
  return essence === null || UNKNOWN_TYPES.has(essence) ? null : essence;
}

/** Tags that mark a body without a type as HTML (MIME Sniffing Standard, "unknown type"). */
const HTML_START = new RegExp(
  String.raw`^(?:\xef\xbb\xbf)*[\t\n\f\r ]*<(?:!doctype html|html|head|script|iframe|h1|div|font|` +
    'table|a|style|title|b|body|br|p|!--)[ >-]',
  'i',
);

/** Bytes of a body that the MIME Sniffing Standard examines. */
const SNIFFED_BYTES = 1445;

function sniffedType(body: Uint8Array): string | null {
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, SNIFFED_BYTES));
  return HTML_START.test(start.toString('latin1')) ? 'text/html' : null;
}

const XML_TYPE = /^(?:(?:text|application)\/xml|application\/xhtml\+xml)$/;

/** Characters in which the root of an XML document is searched for. */
const PROLOG_CHARS_MAX = 8192;
/** The same in bytes: no encoding uses more than four bytes for a character. */
const PROLOG_BYTES_MAX = 4 * PROLOG_CHARS_MAX;

/** Whether the first element of an XML document is `html`, with or without a prefix. */
function hasHtmlRoot(text: string): boolean {
  const prolog = text.slice(0, PROLOG_CHARS_MAX);
  for (let at = prolog.indexOf('<'); at >= 0; at = prolog.indexOf('<', at)) {
    if (/[^?!]/.test(prolog[at + 1] ?? '')) {
      return /^(?:[\w.-]+:)?html[\s/>]/.test(prolog.slice(at + 1, at + 1 + SNIFFED_BYTES));
    }
    const end = prolog.startsWith('<!--', at) ? '-->' : '>';
    at = prolog.indexOf(end, at + 1);
    if (at < 0) return false;
  }
  return false;
}
