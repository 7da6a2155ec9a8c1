// Everything that is derived from a page's bytes, as one pure function: it runs on the threads of
// the pool, and `ubiring check links` runs it alone. What is not HTML has a digest and no links.

import { createHash } from 'node:crypto';
import { shortPrintOf } from '../fingerprint/short-print.ts';
import { simhashOf } from '../fingerprint/simhash.ts';
import type { Sitemap, SitemapOptions } from '../sitemap/sitemap.ts';
import { charsetOf, decode } from '../text/charset.ts';
import { type PageLink, resolveLinks } from './links.ts';
import { type ScanOptions, scanPage } from './page-scan.ts';
import { NO_DIRECTIVES, type RobotsDirectives } from './robots-directives.ts';

/**
 * Links taken from one page. Real pages have some hundreds, the largest indexes some thousands;
 * each costs a row here or at a peer, so a page of a million must not be able to fill a database.
 */
export const LINKS_MAX = 10_000;

/**
 * One other word in fewer than these turns more bits of a simhash than two equal pages may differ
 * by, as often as not.
 */
export const SIMHASH_WORDS_MIN = 150;

/** A page as it was received. Plain data: it crosses to a worker thread. */
export interface PageInput extends Pick<ScanOptions, 'embeds' | 'productToken'> {
  readonly body: Uint8Array;
  /** Content-Type header, or null. */
  readonly contentType: string | null;
  /** Absolute URL that was requested. */
  readonly url: string;
  /** A body without a usable type: looked at (the default), or taken for HTML. */
  readonly untyped?: 'sniffed' | 'html';
  /** At most so many links; default 10,000. */
  readonly linksMax?: number;
  /** Set where the body may be a sitemap or a feed, by its type or by who named it. */
  readonly sitemap?: Pick<SitemapOptions, 'declared'>;
}

/** What a sitemap or a feed lists. */
interface ListedUrls extends Pick<Sitemap, 'kind' | 'isPartial'> {
  /** By `packUrls`, each identity once. */
  readonly urls: Uint8Array<ArrayBuffer>;
  readonly count: number;
}

/** What a page says. */
export interface ParsedPage extends RobotsDirectives {
  /** In document order, each identity once; none if the page asks not to follow them. */
  readonly links: readonly PageLink[];
  readonly linksDropped: number;
  /** Hrefs of URLs longer than any that is crawled. */
  readonly tooLong: number;
  /** Hrefs that are no crawlable URL. */
  readonly refused: number;
  /** An encoding of the Encoding Standard; `binary` for what is not HTML. */
  readonly charset: string;
  readonly base: string;
  /** Identity of the target of a meta refresh; it is among the links, too. */
  readonly refresh: string | null;
  /** Identity of `link rel=canonical`. */
  readonly canonical: string | null;
  /** `sha256:` and the SHA-256 of the body in hexadecimal. */
  readonly digest: string;
  /** By `simhashOf`, of few words by `shortPrintOf`; null for what is not HTML, or says too little. */
  readonly simhash: string | null;
  /** Absent for what is no sitemap; one that is has no other links. */
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
  const { embeds = false, productToken } = input;
  if (isXml && type !== 'application/xhtml+xml') {
    const start = decode(body.subarray(0, PROLOG_BYTES_MAX), charset);
    if (!hasHtmlRoot(start)) return unreadPage(input);
  }
  const text = decode(body, charset);
  const scan = scanPage(text, {
    xhtml: isXml,
    embeds,
    ...(productToken === undefined ? {} : { productToken }),
  });
  const resolved = resolveLinks(scan, url, charset, input.linksMax ?? LINKS_MAX);
  const simhash = simhashOf(text, SIMHASH_WORDS_MIN) ?? shortPrintOf(text, url);
  return { ...resolved, charset, ...scan.directives, digest: digestOf(body), simhash };
}

function digestOf(body: Uint8Array): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`;
}

/** A body that says nothing as a page. */
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

/** Types that say nothing (MIME Sniffing Standard, section 7). */
const UNKNOWN_TYPES = new Set(['*/*', 'unknown/unknown', 'application/unknown']);

function essenceOf(contentType: string | null): string | null {
  if (contentType === null) return null;
  const essence = contentType.split(/[;,]/, 1)[0]!.trim().toLowerCase();
  return essence.includes('/') && !UNKNOWN_TYPES.has(essence) ? essence : null;
}

/** Tags that make a body without a type HTML (MIME Sniffing Standard, "unknown type"). */
const HTML_START = new RegExp(
  String.raw`^(?:\xef\xbb\xbf)?[\t\n\f\r ]*<(?:!doctype html|html|head|script|iframe|h1|div|font|` +
    'table|a|style|title|b|body|br|p|!--)[ >-]',
  'i',
);

/** The standard looks no further than this. */
const SNIFFED_BYTES = 1445;

function sniffedType(body: Uint8Array): string | null {
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, SNIFFED_BYTES));
  return HTML_START.test(start.toString('latin1')) ? 'text/html' : null;
}

const XML_TYPE = /^(?:(?:text|application)\/xml|application\/xhtml\+xml)$/;

/** The root of an XML document is looked for in so many characters. */
const PROLOG_CHARS_MAX = 8192;
/** No encoding has characters of more bytes. */
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
