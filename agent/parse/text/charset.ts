// Determines the encoding of a page and decodes it. The order is: byte order mark, Content-Type
// header, declaration in the document, UTF-8 if the bytes are valid UTF-8, else windows-1252 (HTML
// Standard, "determining the character encoding", with its detection limited to UTF-8). It uses
// @exodus/bytes, because Node decodes some Big5 and Shift_JIS sequences incorrectly. Two extensions
// find links in pages that a browser shows as noise: UTF-32 with a mark, and UTF-16 whose header
// lacks the byte order or has the wrong one. Nothing here throws: a page in an unknown encoding may
// still have links.

import { isAscii, isUtf8 } from 'node:buffer';
import { getBOMEncoding, legacyHookDecode, normalizeEncoding } from '@exodus/bytes/encoding.js';
import { percentEncodeAfterEncoding } from '@exodus/bytes/whatwg.js';
import { declaredEncoding } from './prescan.ts';
import { decodeUtf32, utf16Order, utf32Mark } from './wide-text.ts';

/** Encoding of a document without any declaration (HTML Standard, for most locales). */
const DEFAULT_ENCODING = 'windows-1252';

/**
 * Bytes searched for a declaration. The standard searches 1024 bytes and restarts the parser at a
 * later declaration, with the same result.
 */
const PRESCAN_BYTES_MAX = 16 * 1024;

/** Bytes that must be valid UTF-8 for the text to count as UTF-8; later errors are ignored. */
const DETECTED_BYTES_MAX = 64 * 1024;

/**
 * @param contentType - Content-Type header, or null
 * @returns an encoding of the Encoding Standard in lower case, such as `utf-8`; or `utf-32be`,
 *   `utf-32le`
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

/** False for ASCII, which is the same in both encodings. */
function looksUtf8(body: Uint8Array): boolean {
  const start = body.subarray(0, DETECTED_BYTES_MAX);
  if (isAscii(start)) return false;
  // The examined part may end inside a character, which has four bytes at most.
  const cutMax = start.length < body.length ? 3 : 0;
  for (let cut = 0; cut <= cutMax; cut++) {
    if (isUtf8(start.subarray(0, start.length - cut))) return true;
  }
  return false;
}

/**
 * Malformed bytes become U+FFFD.
 * @param charset - as returned by `charsetOf`
 */
export function decode(body: Uint8Array, charset: string): string {
  if (charset === 'utf-32be' || charset === 'utf-32le') return decodeUtf32(body, charset);
  return legacyHookDecode(body, charset);
}

/**
 * The encoding that a Content-Type header names. Of several headers joined by commas the last one
 * counts, but it keeps the charset of an earlier one of the same type (Fetch Standard, "extract a
 * MIME type").
 * @returns null if it names no known encoding
 */
function charsetOfHeader(contentType: string | null): string | null {
  let essence = '';
  let label: string | null = null;
  for (const part of contentType === null ? [] : splitOutsideQuotes(contentType, ',')) {
    const [type = '', ...parameters] = splitOutsideQuotes(part, ';');
    // The first charset that is not empty counts.
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
  // A quoted value must begin right after `=` and end the parameter, else the text is no label.
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value);
  // An empty label in quotes counts, but names no encoding.
  return quoted === null ? value : quoted[1]!.replaceAll(/\\(.)/g, '$1') || '""';
}

/** A quote may open anywhere between commas, but between semicolons only after `=`. */
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
 * Escapes the query of a link in the encoding of its page, as browsers do (URL Standard, "query
 * state"). The rest does not change, because paths and hosts are always UTF-8.
 * @param href - attribute value, possibly relative
 */
export function encodeQuery(href: string, charset: string): string {
  if (UNICODE.test(charset) || charset === 'replacement' || !NOT_ASCII.test(href)) return href;
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

/** In documents with these encodings, the queries of links are UTF-8. */
const UNICODE = /^utf-(?:8|16[bl]e|32[bl]e)$/;

/** Characters that the URL Standard escapes in the query of a special scheme, besides controls. */
const QUERY_SET = ' "#\'<>';
