// A fingerprint of what a page says: 64 bits of which pages with nearly the same words share nearly
// all (Charikar's simhash over runs of three words). By it the frontier notices a host that gives
// the same page under ever new URLs, whose links, dates or session numbers differ. Computed on the
// parsing thread, from text that is only roughly that of the page: good enough to compare.

/** Words looked at: two hundred pages of print, and some fifty milliseconds. */
const WORDS_MAX = 50_000;
/** Of fewer words, pages that have nothing to do with one another share too many. */
const WORDS_MIN = 20;
const RUN = 3;

const WORD = /[\p{L}\p{N}]+/gu;

/**
 * @param html - a page's decoded text
 * @returns 16 hexadecimal digits, or null where the page says too little
 */
export function simhashOf(html: string): string | null {
  const weights = new Int32Array(64);
  const last: [number, number][] = [];
  let words = 0;
  for (const text of textsOf(html)) {
    for (const [word] of text.matchAll(WORD)) {
      if (words++ >= WORDS_MAX) break;
      last.push([hashOf(word, 0x811c9dc5), hashOf(word, 0x01234567)]);
      if (last.length < RUN) continue;
      weigh(weights, mixed(last, 0), mixed(last, 1));
      last.shift();
    }
  }
  return words < WORDS_MIN ? null : hexOf(weights, 0) + hexOf(weights, 32);
}

/** The parts between tags, without scripts and styles; linear in the length. */
function* textsOf(html: string): Generator<string> {
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0) break;
    if (open > at) yield html.slice(at, open).toLowerCase();
    const raw = /^<(script|style)\b/i.exec(html.slice(open, open + 8))?.[1];
    const from = raw === undefined ? open : endTag(html, raw, open);
    const close = html.indexOf('>', from);
    if (close < 0) return;
    at = close + 1;
  }
  yield html.slice(at).toLowerCase();
}

function endTag(html: string, name: string, from: number): number {
  const pattern = name.toLowerCase() === 'script' ? /<\/script/gi : /<\/style/gi;
  pattern.lastIndex = from;
  return pattern.exec(html)?.index ?? html.length;
}

/** FNV-1a over UTF-16 units. */
function hashOf(word: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
  return hash;
}

/** One number of a run; the order of its words counts. Mixed as MurmurHash3 ends. */
function mixed(run: readonly (readonly [number, number])[], half: 0 | 1): number {
  let hash = 0;
  for (const word of run) hash = Math.imul(hash, 31) + word[half];
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function weigh(weights: Int32Array, high: number, low: number): void {
  for (let bit = 0; bit < 32; bit++) {
    weights[bit]! += (high >>> bit) & 1 ? 1 : -1;
    weights[32 + bit]! += (low >>> bit) & 1 ? 1 : -1;
  }
}

function hexOf(weights: Int32Array, from: number): string {
  let bits = 0;
  for (let bit = 0; bit < 32; bit++) if (weights[from + bit]! > 0) bits |= 1 << bit;
  return (bits >>> 0).toString(16).padStart(8, '0');
}
