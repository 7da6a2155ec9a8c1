// A fingerprint of the text of a page: pages with nearly the same words have nearly the same 64
// bits (Charikar's simhash over runs of three words). It shows that a host serves the same page
// under ever new URLs, with other links, dates or session numbers. The text is extracted only
// roughly, which is good enough to compare. ASCII text is read from an array of its UTF-16 units
// and without a string for each word, because a string checks its representation at each access.

import { majorityBits } from './majority-bits.ts';

/** Limit on the words read: two hundred printed pages, which take some milliseconds. */
const WORDS_MAX = 50_000;
/** Words in a run. */
const RUN = 3;

/** A word or a part of one: V8 cannot match a run of millions of letters at once. */
const WORD = /[\p{L}\p{N}]{1,10000}/gu;

/** FNV-1a over UTF-16 units. */
const FNV_BASIS = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Hashes of the words of a page; shared, since a thread reads one page at a time. */
const WORDS = new Int32Array(WORDS_MAX);
/** Hashes of its runs, for the upper and the lower half of the fingerprint. */
const HIGH = new Int32Array(WORDS_MAX);
const LOW = new Int32Array(WORDS_MAX);

/** Units of its text. A longer text, which is rare, gets an array of its own. */
const UNITS_MAX = 256 * 1024;
const UNITS = new Uint16Array(UNITS_MAX);

/**
 * @param html - decoded text of a page
 * @param wordsMin - pages with fewer words get no fingerprint; three or more
 * @returns 16 hexadecimal digits, or null if the page has too few words
 */
export function simhashOf(html: string, wordsMin: number): string | null {
  const words = countWords(html);
  if (words < wordsMin) return null;
  const runs = words - RUN + 1;
  for (let at = 0; at < runs; at++) {
    const run = runHash(WORDS[at]!, WORDS[at + 1]!, WORDS[at + 2]!);
    HIGH[at] = mixed(run);
    LOW[at] = mixed(run ^ 0x6a09e667);
  }
  return hexOf(majorityBits(HIGH, runs)) + hexOf(majorityBits(LOW, runs));
}

/** Hashes the words between tags, without scripts and styles, in linear time. */
function countWords(html: string): number {
  const units = unitsOf(html);
  let words = 0;
  for (let at = 0; words < WORDS_MAX; ) {
    const open = html.indexOf('<', at);
    const end = open < 0 ? html.length : open;
    const inAscii = readAscii(units, at, end, words);
    words = inAscii ?? readAny(html, at, end, words);
    if (open < 0) break;
    const close = tagEnd(html, open);
    if (close < 0) break;
    at = close + 1;
  }
  return words;
}

function unitsOf(html: string): Uint16Array {
  const units = html.length > UNITS_MAX ? new Uint16Array(html.length) : UNITS;
  Buffer.from(units.buffer).write(html, 'utf16le');
  return units;
}

/**
 * @returns the end of the tag at `open` or, for a script or style, of its end tag; negative if
 *   there is none
 */
export function tagEnd(html: string, open: number): number {
  return html.indexOf('>', rawEnd(html, open));
}

/** @returns the start of the end tag if a script or style begins at `open`, else `open` */
function rawEnd(html: string, open: number): number {
  // Nearly all tags begin with another letter than `s`.
  if ((html.charCodeAt(open + 1) | 0x20) !== 0x73) return open;
  const raw = /^<(script|style)\b/i.exec(html.slice(open, open + 8))?.[1];
  if (raw === undefined) return open;
  const pattern = raw.toLowerCase() === 'script' ? /<\/script/gi : /<\/style/gi;
  pattern.lastIndex = open;
  return pattern.exec(html)?.index ?? html.length;
}

/** Letters and digits in lower case; 0 for characters between words. */
const IN_WORD = Int32Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code).toLowerCase();
  return /[a-z\d]/.test(char) ? char.charCodeAt(0) : 0;
});
/** All bits for letters and digits, none for characters between words. */
const MASK = IN_WORD.map((code) => (code === 0 ? 0 : -1));

/**
 * Hashes words as `readAny` does. The end of a word is found with a mask, not a branch: words are
 * so short that a processor would mispredict nearly every one.
 * @returns the new number of words; null if not all text is ASCII, and the words have to be read
 *   again from `before`
 */
function readAscii(units: Uint16Array, from: number, to: number, before: number): number | null {
  let words = before;
  let hash = FNV_BASIS;
  let inWord = 0;
  for (let at = from; at < to && words < WORDS_MAX; at++) {
    const unit = units[at]!;
    if (unit > 127) return null;
    const mask = MASK[unit]!;
    WORDS[words] = hash;
    words += inWord & ~mask & 1;
    hash = (next(hash, IN_WORD[unit]!) & mask) | (FNV_BASIS & ~mask);
    inWord = mask;
  }
  if (inWord !== 0 && words < WORDS_MAX) WORDS[words++] = hash;
  return words;
}

function next(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, FNV_PRIME);
}

function readAny(html: string, from: number, to: number, before: number): number {
  let words = before;
  let hash = FNV_BASIS;
  let end = -1;
  for (const { 0: part, index } of html.slice(from, to).toLowerCase().matchAll(WORD)) {
    if (index !== end) {
      if (words === WORDS_MAX) break;
      words++;
      hash = FNV_BASIS;
    }
    for (let i = 0; i < part.length; i++) hash = next(hash, part.charCodeAt(i));
    WORDS[words - 1] = hash;
    end = index + part.length;
  }
  return words;
}

/** Hash of a run, which depends on the order of its words. */
function runHash(first: number, second: number, third: number): number {
  return (Math.imul((Math.imul(first, 31) + second) | 0, 31) + third) | 0;
}

/** The final step of MurmurHash3. */
function mixed(number: number): number {
  let hash = Math.imul(number ^ (number >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function hexOf(bits: number): string {
  return bits.toString(16).padStart(8, '0');
}
