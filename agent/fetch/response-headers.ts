/**
 * Reads the few headers a visit needs. Node hands header bytes over as Latin-1, while servers
 * that put raw text into Location mean UTF-8, so it is decoded again before anyone resolves it.
 * Pure; called by `exchange.ts`.
 */

import { isRedirect } from './body-cap.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The Content-Type header, trimmed; null where missing or empty. */
export function readContentType(header: string | undefined): string | null {
  const trimmed = header?.trim() ?? '';
  return trimmed === '' ? null : trimmed;
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
