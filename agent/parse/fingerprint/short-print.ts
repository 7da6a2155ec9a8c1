// A fingerprint for pages with few words, where one changed word alters a simhash too much. Sites
// that answer every URL with "not found" often include a request number, a time or the URL. Words
// that look like these are masked, and all others must be equal. Short numbers and names are not
// masked, because genuine short pages differ in them.

import { createHash } from 'node:crypto';
import { tagEnd } from './simhash.ts';

/** Pages with fewer words get no fingerprint: they have too little text to be compared. */
const WORDS_MIN = 5;
/** With fewer words, pictures are the content of a page, so they count as well. */
const WORDS_WITH_PICTURES = 20;
/** Limit on the pictures that count, from the first. */
const PICTURES_MAX = 100;

/** Minimum characters and digits of a masked word: the number of a request, session or time. */
const ID_CHARS_MIN = 8;
const ID_DIGITS_MIN = 3;

/**
 * Text between spaces, from its first letter or digit to its last; matches in linear time. V8 cannot
 * match millions of characters at once, so a longer word counts as several.
 */
const WORD = /[\p{L}\p{N}](?:\S{0,10000}[\p{L}\p{N}])?/gu;
const PICTURE =
  /<(?:img|embed|source|video|audio|iframe)\b[^<>]{0,2000}?\ssrc\s*=\s*["']?([^"'\s>?#]+)/gi;
/** Replaces masked words; no word is equal to it. */
const MASK = '\0';

/**
 * @param html - decoded text of a page with few words
 * @param url - as requested; words that contain its path are masked
 * @returns 16 hexadecimal digits, or null if the page has too few words
 */
export function shortPrintOf(html: string, url: string): string | null {
  const words = wordsOf(html, pathOf(url));
  if (words.length < WORDS_MIN) return null;
  const hash = createHash('sha256').update(words.join(' '));
  if (words.length < WORDS_WITH_PICTURES) hash.update(`\n${picturesOf(html).join('\n')}`);
  return hash.digest('hex').slice(0, 16);
}

function wordsOf(html: string, path: string): string[] {
  const words: string[] = [];
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at);
    const text = html.slice(at, open < 0 ? undefined : open).toLowerCase();
    for (const { 0: word, index } of text.matchAll(WORD)) {
      const rooted = text[index - 1] === '/' ? `/${word}` : word;
      words.push(isId(word) || rooted.includes(path) ? MASK : word);
    }
    if (open < 0) break;
    const end = tagEnd(html, open);
    if (end < 0) break;
    at = end + 1;
  }
  return words;
}

function isId(word: string): boolean {
  if (word.length < ID_CHARS_MIN) return false;
  let digits = 0;
  for (const char of word) if (char >= '0' && char <= '9') digits++;
  return digits >= ID_DIGITS_MIN;
}

/** URLs of pictures and frames, without queries, which a visitor counter would change. */
function picturesOf(html: string): string[] {
  const pictures: string[] = [];
  for (const [, address] of html.matchAll(PICTURE)) {
    if (pictures.push(address!) === PICTURES_MAX) break;
  }
  return pictures;
}

/** The path as a page would repeat it; `MASK` for the root path, since no word contains it. */
function pathOf(url: string): string {
  const pathname = URL.parse(url)?.pathname ?? '/';
  if (pathname === '/') return MASK;
  const path = pathname.toLowerCase().replace(/\/$/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
