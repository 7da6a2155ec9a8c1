// The paths of Allow and Disallow lines, and whether a URL falls under one. Pattern and path are
// first brought to one spelling (RFC 9309, section 2.2.2), so that matching compares octets. There
// is no regular expression made of what a server sent: a pattern is cut at its stars, and each
// piece is searched once, from where the one before ended. The first place a piece fits is always
// good enough for the rest, so nothing is ever tried again.

import { requestTarget } from '../url/request-target.ts';

/** One Allow or Disallow path, ready to match. */
export interface PathPattern {
  /** What stands between the stars, in order; the first must open the path. */
  readonly pieces: readonly string[];
  /** The pattern ends in `$`: the last piece must close the path. */
  readonly anchored: boolean;
  /** Octets of the pattern: of several matches the one with most wins. */
  readonly octets: number;
}

const NOTHING_TO_SPELL = /^[A-Za-z0-9._~/?&=+,;:@!()-]*$/;
const ESCAPE_OR_FOREIGN = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~/?&=+,;:@!()%-]/g;
/**
 * Up to here `indexOf` takes time linear in the text whatever the piece; V8 looks only at the last
 * 250 characters of longer ones, which a hostile file can turn into a quarter of a second a URL.
 */
const INDEX_OF_PIECE_MAX = 250;
const UNRESERVED = /[A-Za-z0-9._~-]/;

/**
 * One spelling of a path: escapes of unreserved characters decoded, the others in upper case, and
 * every octet escaped that a URL could carry either way.
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

/** @param value - what follows the colon, one character per octet, trimmed, not empty */
export function pathPattern(value: string): PathPattern {
  const anchored = value.endsWith('$');
  const [first = '', ...rest] = (anchored ? value.slice(0, -1) : value).split('*').map(spell);
  const octets = first.length + rest.reduce((sum, piece) => sum + 1 + piece.length, 0);
  // An empty piece between two stars says nothing; at the end it says that the path may go on.
  const inner = rest.filter((piece, index) => piece !== '' || index === rest.length - 1);
  return { pieces: [first, ...inner], anchored, octets: octets + (anchored ? 1 : 0) };
}

/** @param path - as `matchablePath` gives it */
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
  // `borders[i]`: how much of the piece's start also ends at i.
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
 * Path and query of a URL, spelled for `matches`.
 *
 * @param url - absolute; a URL without scheme is taken as one, an empty one as the root
 */
export function matchablePath(url: string): string {
  const parsed = URL.parse(url) ?? URL.parse(`http://${url}`);
  if (parsed === null) return '/';
  return spell(requestTarget(parsed));
}
