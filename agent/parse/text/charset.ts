// In which encoding a page is, and its text: byte order mark, Content-Type header, declaration in
// the document, UTF-8 where the bytes are, else windows-1252 (HTML Standard, "determining the
// character encoding"; its step for detection is kept to UTF-8, the one encoding that bytes prove).
// The decoder is @exodus/bytes because Node's own answers some Big5 and Shift_JIS sequences
// wrongly. Two things go beyond the standard, because a page that a browser shows as noise may still
// have links: UTF-32 with its mark, and UTF-16 whose header does not say or not know which way round.
// Nothing here throws: a page in no known encoding is still a page with links.

import { isAscii, isUtf8 } from 'node:buffer';
import { getBOMEncoding, legacyHookDecode, normalizeEncoding } from '@exodus/bytes/encoding.js';
import { percentEncodeAfterEncoding } from '@exodus/bytes/whatwg.js';
import { declaredEncoding } from './prescan.ts';
import { decodeUtf32, utf16Order, utf32Mark } from './wide-text.ts';

/** What a document without any declaration is (HTML Standard, for most locales). */
const DEFAULT_ENCODING = 'windows-1252';

/**
 * How far a declaration is looked for. The standard's prescan stops at 1024 bytes and starts the
 * parser over if a declaration comes later; looking further at once gives the same encoding.
 */
const PRESCAN_BYTES_MAX = 16 * 1024;

/** How much must be UTF-8 for the whole to be taken as it; one slip far below spoils no page. */
const DETECTED_BYTES_MAX = 64 * 1024;

/**
 * @param contentType - Content-Type header, or null
 * @returns an encoding of the Encoding Standard, in lower case, such as `utf-8`; or `utf-32be`,
 * `utf-32le`
 */
export function charsetOf(body: Uint8Array, contentType: string | null): string {
  const marked = utf32Mark(body) ?? getBOMEncoding(body);
  if (marked !== null) return marked;
  const headed = charsetOfHeader(contentType);
  if (headed === 'utf-16le' || headed === 'utf-16be') return utf16Order(body) ?? headed;
  if (headed !== null) return headed;
  const declared = declaredEncoding(body.subarray(0, PRESCAN_BYTES_MAX));
  return declared ?? (looksUtf8(body) ? 'utf-8' : DEFAULT_ENCODING);
}

/** Text in ASCII alone proves nothing, and is the same in both. */
function looksUtf8(body: Uint8Array): boolean {
  const start = body.subarray(0, DETECTED_BYTES_MAX);
  if (isAscii(start)) return false;
  // The part looked at may end in the middle of a character, of four bytes at most.
  const cutMax = start.length < body.length ? 3 : 0;
  for (let cut = 0; cut <= cutMax; cut++) {
    if (isUtf8(start.subarray(0, start.length - cut))) return true;
  }
  return false;
}

/** @param charset - as `charsetOf` gives it; what is malformed becomes U+FFFD */
export function decode(body: Uint8Array, charset: string): string {
  if (charset === 'utf-32be' || charset === 'utf-32le') return decodeUtf32(body, charset);
  return legacyHookDecode(body, charset);
}

/**
 * The encoding that a Content-Type header names. Of several headers joined by commas the last one
 * counts, but the charset of an earlier one of the same type stays (Fetch Standard, "extract a
 * MIME type").
 *
 * @returns null where it names none that is known
 */
function charsetOfHeader(contentType: string | null): string | null {
  let essence = '';
  let label: string | null = null;
  for (const part of contentType === null ? [] : splitOutsideQuotes(contentType, ',')) {
    const [type = '', ...parameters] = splitOutsideQuotes(part, ';');
    // Of several the first counts, unless it is empty.
    const own = parameters.map(charsetParameter).find((value) => value) ?? null;
    if (own !== null || type.trim().toLowerCase() !== essence) label = own;
    essence = type.trim().toLowerCase();
  }
  return label === null ? null : normalizeEncoding(label);
}

function charsetParameter(parameter: string): string | null {
  const equals = parameter.indexOf('=');
  if (equals < 0 || parameter.slice(0, equals).trimStart().toLowerCase() !== 'charset') return null;
  const value = parameter.slice(equals + 1).trimEnd();
  // A quote must open right after the equals sign and close the value, else the value is no label.
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value);
  // An empty label in quotes is one all the same, which no encoding has.
  return quoted === null ? value : quoted[1]!.replaceAll(/\\(.)/g, '$1') || '""';
}

/** Between values a quote opens anywhere, between parameters only where a value begins. */
function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const opens = separator === ',' || text[index - 1] === '=';
    if (text[index] === '"' && (quoted || opens)) quoted = !quoted;
    if (quoted && text[index] === '\\') index++;
    if (quoted || text[index] !== separator) continue;
    parts.push(text.slice(start, index));
    start = index + 1;
  }
  parts.push(text.slice(start));
  return parts;
}

/**
 * Escapes the query of a link in the encoding of its page, as a browser sends it (URL Standard,
 * "query state"). Paths and hosts are always in UTF-8, so the rest stays as it is.
 *
 * @param href - attribute value, possibly relative
 */
export function encodeQuery(href: string, charset: string): string {
  if (UNICODE.test(charset)) return href;
  if (charset === 'replacement' || !NOT_ASCII.test(href)) return href;
  const hash = href.indexOf('#');
  const end = hash < 0 ? href.length : hash;
  const query = href.indexOf('?');
  if (query < 0 || query > end) return href;
  // The URL parser removes tabs and line breaks before it encodes.
  const text = href.slice(query + 1, end).replace(/[\t\n\r]/g, '');
  if (!NOT_ASCII.test(text)) return href;
  return `${href.slice(0, query + 1)}${percentEncodeAfterEncoding(charset, text, QUERY_SET)}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant.
const NOT_ASCII = /[^\x00-\x7f]/;

/** Documents in any of these have the queries of their links in UTF-8. */
const UNICODE = /^utf-(?:8|16[bl]e|32[bl]e)$/;

/** What the URL Standard escapes in the query of a special scheme, besides controls. */
const QUERY_SET = ' "#\'<>';
