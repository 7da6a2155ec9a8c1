// Matches URLs against the paths of Allow and Disallow lines. Pattern and path are normalized first
// (RFC 9309, section 2.2.2), so matching compares octets. No regular expression is built from
// server data: a pattern is split at its stars, and each piece is searched once, from the end of
// the previous one. The first match of a piece always suffices, so there is no backtracking.

import { requestTarget } from '../url/request-target.ts';

export interface PathPattern {
  /** The text between the stars, in order. The path must start with the first piece. */
  readonly pieces: readonly string[];
  /** The pattern ends in `$`: the path must end with the last piece. */
  readonly anchored: boolean;
  /** Length of the pattern in octets: the longest matching pattern applies. */
  readonly octets: number;
}

const NOTHING_TO_SPELL = /^[A-Za-z0-9._~/?&=+,;:@!()-]*$/;
const ESCAPE_OR_FOREIGN = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~/?&=+,;:@!()%-]/g;
/**
 * Longest piece for `indexOf`, in characters: up to here its time is linear in the text. For longer
 * pieces V8 examines only the last 250 characters, so a hostile file could cost a quarter of a
 * second for each URL.
 */
const INDEX_OF_PIECE_MAX = 250;
const UNRESERVED = /[A-Za-z0-9._~-]/;

/**
 * Normalizes a path: decodes escapes of unreserved characters, writes other escapes in upper case,
 * and escapes every octet that a URL may contain either way.
 *
 * @param path - one character per octet
 */
function spell(path: string): string {
  if (NOTHING_TO_SPELL.test(path)) return path;
  return path.replace(ESCAPE_OR_FOREIGN, (found) => {
    if (found.length === 1) return escaped(found.charCodeAt(0));
    const octet = Number.parseInt(found.slice(1), 16);
    const char = String.fromCharCode(octet);
    return UNRESERVED.test(char) ? char : escaped(octet);
  });
}

function escaped(octet: number): string {
  return `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
}

/** @param value - the text after the colon: one character per octet, trimmed, not empty */
export function pathPattern(value: string): PathPattern {
  const anchored = value.endsWith('$');
  const [first = '', ...rest] = (anchored ? value.slice(0, -1) : value).split('*').map(spell);
  const octets = first.length + rest.reduce((sum, piece) => sum + 1 + piece.length, 0);
  // An empty piece between two stars has no effect; at the end it allows any continuation.
  const inner = rest.filter((piece, index) => piece !== '' || index === rest.length - 1);
  return { pieces: [first, ...inner], anchored, octets: octets + (anchored ? 1 : 0) };
}

/** @param path - normalized by `matchablePath` */
export function matches(pattern: PathPattern, path: string): boolean {
  const { pieces, anchored } = pattern;
  const first = pieces[0]!;
  if (!path.startsWith(first)) return false;
  let end = first.length;
  const last = pieces.length - 1;
  if (last === 0) return !anchored || end === path.length;
  for (let index = 1; index < last; index++) {
    const found = search(path, pieces[index]!, end);
    if (found < 0) return false;
    end = found + pieces[index]!.length;
  }
  const tail = pieces[last]!;
  return anchored
    ? path.length - tail.length >= end && path.endsWith(tail)
    : search(path, tail, end) >= 0;
}

/** `text.indexOf(piece, from)` in linear time (Knuth, Morris and Pratt 1977). */
function search(text: string, piece: string, from: number): number {
  if (piece.length <= INDEX_OF_PIECE_MAX) return text.indexOf(piece, from);
  if (piece.length > text.length - from) return -1;
  // `borders[i]`: length of the longest proper prefix of the piece that ends at i.
  const borders = new Uint32Array(piece.length);
  for (let index = 1, matched = 0; index < piece.length; index++) {
    const code = piece.charCodeAt(index);
    while (matched > 0 && code !== piece.charCodeAt(matched)) matched = borders[matched - 1]!;
    if (code === piece.charCodeAt(matched)) matched++;
    borders[index] = matched;
  }
  for (let index = from, matched = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    while (matched > 0 && code !== piece.charCodeAt(matched)) matched = borders[matched - 1]!;
    if (code === piece.charCodeAt(matched)) matched++;
    if (matched === piece.length) return index + 1 - matched;
  }
  return -1;
}

/**
 * Returns path and query of a URL, normalized for `matches`.
 *
 * @param url - absolute; without a scheme, http is assumed; an invalid or empty URL gives `/`
 */
export function matchablePath(url: string): string {
  const parsed = URL.parse(url) ?? URL.parse(`http://${url}`);
  if (parsed === null) return '/';
  return spell(requestTarget(parsed));
}
