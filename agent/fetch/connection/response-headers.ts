/**
 * Reads the response headers that the crawler needs. Node decodes header bytes as Latin-1, but
 * servers that send raw text in Location mean UTF-8, so it is decoded again.
 */

import { isRedirect } from '../body/body-cap.ts';

/** Statuses whose responses have no body, whatever their headers say (RFC 9112, section 6.3). */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The headers that may have several fields, and that Node merges differently: of Content-Type it
 * keeps the first field, and it joins those of X-Robots-Tag, so a crawler named in one field would
 * seem to be named for the next one, too.
 *
 * @param raw names and values, alternating
 */
export function severalFields(raw: readonly string[]) {
  const types = valuesOf(raw, 'content-type');
  const tags = valuesOf(raw, 'x-robots-tag');
  return {
    'content-type': types.length === 0 ? undefined : types.join(', '),
    'x-robots-tag': tags.length === 0 ? undefined : tags,
  };
}

function valuesOf(raw: readonly string[], name: string): string[] {
  return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]!.toLowerCase() === name);
}

/** A comma outside quotes. */
const COMMA = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/;
/** Longer headers count as one value, because the search for commas takes quadratic time. */
const TYPES_CHARS_MAX = 1000;
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

/**
 * @returns the type; of several types the last valid one, with the charset of an equal type before
 * it (Fetch Standard, "extract a MIME type"). Null if the header is absent or empty.
 */
export function readContentType(header: string | undefined): string | null {
  const trimmed = header?.trim() ?? '';
  if (!trimmed.includes(',') || trimmed.length > TYPES_CHARS_MAX) return trimmed || null;
  let last: string | null = null;
  for (const part of trimmed.split(COMMA)) {
    const type = part.trim();
    if (!MEDIA_TYPE.test(type) || type.startsWith('*/*')) continue;
    const isSame = last !== null && essenceOf(last) === essenceOf(type);
    if (!isSame || /;\s*charset=/i.test(type)) last = type;
  }
  return last ?? trimmed;
}

function essenceOf(type: string): string {
  return type.split(';', 1)[0]!.trim().toLowerCase();
}

/** @returns the Refresh header as text; null if it is absent or empty. */
export function readRefresh(header: unknown): string | null {
  const trimmed = typeof header === 'string' ? header.trim() : '';
  return trimmed === '' ? null : decodeUtf8(trimmed);
}

/**
 * @returns the Location of a redirect as text, not yet resolved; null for other statuses, or if it
 * is absent or empty.
 */
export function readLocation(status: number, header: string | undefined): string | null {
  const location = header?.trim() ?? '';
  return !isRedirect(status) || location === '' ? null : decodeUtf8(location);
}

function decodeUtf8(latin1: string): string {
  try {
    return utf8.decode(Buffer.from(latin1, 'latin1'));
  } catch {
    // Not UTF-8, so the bytes are Latin-1.
    return latin1;
  }
}
