// The fingerprint of a page of few words, where one changing word is too much for a simhash. Sites
// that answer every URL with "not found" put a request number, a time or the URL itself into it; so
// what looks like one of these does not count, and the rest has to be equal. Short numbers and
// names count, because they are what honest short pages differ by. Asked by page.ts for pages that
// are too short for `simhash.ts`; computed on the parsing thread.

import { createHash } from 'node:crypto';
import { tagEnd } from './simhash.ts';

/** Fewer words than these say nothing that two pages could be found alike by. */
const WORDS_MIN = 5;
/** Below this, pictures are what a page is about: they count as well. */
const WORDS_WITH_PICTURES = 20;
/** No page that is asked about has more words; of pictures the first so many count. */
const PICTURES_MAX = 100;

/** A number of a request, a session or a time: so long at least, with so many digits. */
const ID_CHARS_MIN = 8;
const ID_DIGITS_MIN = 3;

/** What stands between spaces, from its first letter or digit to its last; linear in the length. */
const WORD = /[\p{L}\p{N}](?:\S*[\p{L}\p{N}])?/gu;
const PICTURE =
  /<(?:img|embed|source|video|audio|iframe)\b[^<>]{0,2000}?\ssrc\s*=\s*["']?([^"'\s>?#]+)/gi;
/** Stands for what does not count; no word is written so. */
const MASK = '\0';

/**
 * @param html - a page's decoded text, of few words
 * @param url - as requested: a page that repeats its path is no other page for that
 * @returns 16 hexadecimal digits, or null where the page says too little
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

/** Pictures and frames by their addresses, without queries: a counter's picture is no other. */
function picturesOf(html: string): string[] {
  const pictures: string[] = [];
  for (const [, address] of html.matchAll(PICTURE)) {
    if (pictures.push(address!) === PICTURES_MAX) break;
  }
  return pictures;
}

/** As a page would repeat it; of the first page of a site there is nothing to be found. */
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
