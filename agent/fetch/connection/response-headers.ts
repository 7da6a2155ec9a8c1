/**
 * Reads the few headers a visit needs. Node hands header bytes over as Latin-1, while servers
 * that put raw text into Location mean UTF-8, so it is decoded again before anyone resolves it.
 * Pure; called by `exchange.ts`.
 */

import { isRedirect } from '../body/body-cap.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Joins the Content-Type fields of a response, of which Node keeps the first one only.
 *
 * @param raw names and values in turn
 */
export function joinContentTypes(raw: readonly string[]): string | undefined {
  const values: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (raw[at]!.toLowerCase() === 'content-type') values.push(raw[at + 1]!);
  }
  return values.length === 0 ? undefined : values.join(', ');
}

/** A comma outside of quotes. */
const COMMA = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/;
/** Longer fields are read as one value: the search for commas takes quadratic time. */
const TYPES_CHARS_MAX = 1000;
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

/**
 * @returns of several types the last valid one, with the charset of an equal type before it (Fetch
 * Standard, "extract a MIME type"); null where the header is missing or empty.
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

/** The Refresh header as text; null where missing or empty. */
export function readRefresh(header: unknown): string | null {
  const trimmed = typeof header === 'string' ? header.trim() : '';
  return trimmed === '' ? null : decodeUtf8(trimmed);
}

/**
 * @returns the Location of a redirect status as text, still relative; null for other statuses
 * and where it is missing or empty.
 */
export function readLocation(status: number, header: string | undefined): string | null {
  const location = header?.trim() ?? '';
  return !isRedirect(status) || location === '' ? null : decodeUtf8(location);
}

function decodeUtf8(latin1: string): string {
  try {
    return utf8.decode(Buffer.from(latin1, 'latin1'));
  } catch {
    // Not UTF-8: each byte is the Latin-1 character that Node made of it.
    return latin1;
  }
}
