// A fingerprint of what a page says: 64 bits of which pages with nearly the same words share nearly
// all (Charikar's simhash over runs of three words). By it the frontier notices a host that gives
// the same page under ever new URLs, whose links, dates or session numbers differ. Computed on the
// parsing thread, from text that is only roughly that of the page: good enough to compare. Text in
// ASCII, which most markup is, is read without making a string of each word, and from an array of
// its units, since a string is asked anew at each unit what kind of string it is.

import { majorityBits } from './majority-bits.ts';

/** Words looked at: two hundred pages of print, and some milliseconds. */
const WORDS_MAX = 50_000;
const RUN = 3;

const WORD = /[\p{L}\p{N}]+/gu;

/** FNV-1a over UTF-16 units. */
const FNV_BASIS = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** The hashes of the words of a page; a thread reads one page at a time. */
const WORDS = new Int32Array(WORDS_MAX);
/** Those of its runs, each of both kinds. */
const HIGH = new Int32Array(WORDS_MAX);
const LOW = new Int32Array(WORDS_MAX);

/** The units of its text, unless it has more: hardly any page does, and what is here stays. */
const UNITS_MAX = 256 * 1024;
const UNITS = new Uint16Array(UNITS_MAX);

/**
 * @param html - a page's decoded text
 * @param wordsMin - of fewer words there is none; three or more
 * @returns 16 hexadecimal digits, or null where the page says too little
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

/** Reads the parts between tags, without scripts and styles; linear in the length. */
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

/** Where what is no text ends that begins with the tag at `open`; negative: nowhere. */
export function tagEnd(html: string, open: number): number {
  return html.indexOf('>', rawEnd(html, open));
}

/** Where the tag that ends the element at `open` begins if its text is none of the page's. */
function rawEnd(html: string, open: number): number {
  // Nearly all tags begin with another letter.
  if ((html.charCodeAt(open + 1) | 0x20) !== 0x73) return open;
  const raw = /^<(script|style)\b/i.exec(html.slice(open, open + 8))?.[1];
  if (raw === undefined) return open;
  const pattern = raw.toLowerCase() === 'script' ? /<\/script/gi : /<\/style/gi;
  pattern.lastIndex = open;
  return pattern.exec(html)?.index ?? html.length;
}

/** Letters and digits in lower case; 0 for what stands between words. */
const IN_WORD = Int32Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code).toLowerCase();
  return /[a-z\d]/.test(char) ? char.charCodeAt(0) : 0;
});
/** All bits for letters and digits, none for what stands between words. */
const MASK = IN_WORD.map((code) => (code === 0 ? 0 : -1));

/**
 * Gives how many words there are now, the same as `readAny`; null where not all is ASCII, and then
 * the words are to be read again from `before` on. Where a word ends is masked, not asked: words
 * are so short that a processor guesses wrong at nearly each.
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
  for (const [word] of html.slice(from, to).toLowerCase().matchAll(WORD)) {
    if (words === WORDS_MAX) break;
    let hash = FNV_BASIS;
    for (let i = 0; i < word.length; i++) hash = next(hash, word.charCodeAt(i));
    WORDS[words++] = hash;
  }
  return words;
}

/** One number of a run; the order of its words counts. */
function runHash(first: number, second: number, third: number): number {
  return (Math.imul((Math.imul(first, 31) + second) | 0, 31) + third) | 0;
}

/** As MurmurHash3 ends. */
function mixed(number: number): number {
  let hash = Math.imul(number ^ (number >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function hexOf(bits: number): string {
  return bits.toString(16).padStart(8, '0');
}
