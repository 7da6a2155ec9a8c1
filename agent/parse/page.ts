// Everything that is derived from a page's bytes, as one pure function: it runs on the threads of
// the pool, and `ubiring check links` runs it alone. What is not HTML has a digest and no links.

import { createHash } from 'node:crypto';
import { charsetOf, decode } from './charset.ts';
import { type PageLink, resolveLinks } from './links.ts';
import { type ScanOptions, scanPage } from './page-scan.ts';
import { NO_DIRECTIVES, type RobotsDirectives } from './robots-directives.ts';
import { shortPrintOf } from './short-print.ts';
import { simhashOf } from './simhash.ts';

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
}

/** Parses a page; never throws. */
export function parsePage(input: PageInput): ParsedPage {
  const { body, contentType, url } = input;
  const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`;
  const untyped = input.untyped === 'html' ? 'text/html' : sniffedType(body);
  const type = essenceOf(contentType) ?? untyped;
  if (type !== 'text/html' && type !== 'application/xhtml+xml') return notHtml(url, digest);
  const charset = charsetOf(body, contentType);
  const { embeds = false, productToken } = input;
  const text = decode(body, charset);
  const scan = scanPage(text, {
    xhtml: type === 'application/xhtml+xml',
    embeds,
    ...(productToken === undefined ? {} : { productToken }),
  });
  const resolved = resolveLinks(scan, url, charset, input.linksMax ?? LINKS_MAX);
  const simhash = simhashOf(text, SIMHASH_WORDS_MIN) ?? shortPrintOf(text, url);
  return { ...resolved, charset, ...scan.directives, digest, simhash };
}

function notHtml(url: string, digest: string): ParsedPage {
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
    digest,
    simhash: null,
  };
}

function essenceOf(contentType: string | null): string | null {
  if (contentType === null) return null;
  const essence = contentType.split(/[;,]/, 1)[0]!.trim().toLowerCase();
  return essence.includes('/') ? essence : null;
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
