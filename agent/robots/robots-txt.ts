// Parses robots.txt (RFC 9309): which paths of an origin this crawler may request. The parser
// tolerates common mistakes (misspelt keys, missing colons, unusual line ends, binary data). If a
// mistake can be read in two ways, it chooses the one that forbids more. The available packages
// fail some of the RFC's own examples.

import type { RequestForm } from '../url/crawl-url.ts';
import { matchablePath, pathPattern } from './path-pattern.ts';
import { productTokenOf } from './product-token.ts';
import { type Rule, RuleSet } from './rule-set.ts';

/**
 * Limit of the octets read. The RFC requires at least 500 KiB; one more character (two octets in
 * UTF-16) shows whether the last line continues.
 */
export const ROBOTS_BYTES_MAX = 500 * 1024 + 2;

/** Limit of a line: eight times the longest URL of old browsers (2083), as in Google's parser. */
const LINE_OCTETS_MAX = 8 * 2083;

/** Maximum of Sitemap lines. Large sites need only one: it names an index of their sitemaps. */
const SITEMAPS_MAX = 1000;

/** Byte order marks. Files that were joined have them at the start of any line, or two at once. */
const MARKS = /^(?:\xef\xbb\xbf)+/;

/** Start of a line that may name a sitemap. */
const SITEMAP_LINE = /^[^a-z]*site-?map/i;

/** Limit of the Crawl-delay. A longer one is probably a mistake; timers overflow at 24.8 days. */
const CRAWL_DELAY_MAX_MS = 24 * 3600 * 1000;

type Key = 'user-agent' | 'allow' | 'disallow' | 'crawl-delay' | 'sitemap';

/** Spellings in use (known to Google's parser, crawler-commons and Protego). */
const KEYS: ReadonlyMap<string, Key> = new Map([
  ...spellings('user-agent', 'user-agent useragent user_agent user-agents useg-agent'),
  ['user agent', 'user-agent'],
  ...spellings('disallow', 'disallow dissallow dissalow disalow diasllow disallaw desallow'),
  ...spellings('allow', 'allow'),
  ...spellings('crawl-delay', 'crawl-delay crawldelay crawl_delay'),
  ...spellings('sitemap', 'sitemap site-map'),
]);

function spellings(key: Key, words: string): [string, Key][] {
  return words.split(' ').map((word) => [word, key]);
}

/** The merged groups of one product token. */
interface Group {
  named: boolean;
  readonly rules: Rule[];
  crawlDelayMs: number | null;
}

export class RobotsRules {
  /** The file's Crawl-delay for this crawler, 0 to a day; null: none. */
  readonly crawlDelayMs: number | null;
  /** Without duplicates, in file order; absolute if `parseRobots` was given the file's URL. */
  readonly sitemaps: readonly string[];
  readonly #rules: RuleSet;

  constructor(rules: readonly Rule[], crawlDelayMs: number | null, sitemaps: readonly string[]) {
    this.#rules = new RuleSet(rules);
    this.crawlDelayMs = crawlDelayMs;
    this.sitemaps = sitemaps;
  }

  /** Estimated memory of the rules, in octets. */
  get bytes(): number {
    return this.#rules.bytes;
  }

  /** Number of rules, and whether a check of a long URL may not reach all of them. */
  get size(): RuleSet['size'] {
    return this.#rules.size;
  }

  /**
   * @param url - absolute URL of the origin, in any spelling
   * @returns the verdict, the line that gave it (null: no line matches), and the cost in steps; a
   *   step is about one octet examined
   */
  allows(url: RequestForm): { allowed: boolean; rule: string | null; steps: number } {
    const path = matchablePath(url);
    if (path === '/robots.txt') return { allowed: true, rule: null, steps: 0 };
    const { rule, steps } = this.#rules.decide(path);
    return { allowed: rule?.allow ?? true, rule: rule && textOf(rule), steps };
  }
}

/**
 * Parses a robots.txt file. Never throws, whatever the bytes are.
 *
 * @param body - as received; a string stands for its UTF-8 octets
 * @param names - the crawler's product token, or several tokens whose groups are merged; `*` among
 *   them adds the groups of all crawlers; a version after a slash is ignored
 * @param fileUrl - base for relative Sitemap lines
 */
export function parseRobots(
  body: Uint8Array | string,
  names: string | readonly string[],
  fileUrl?: string,
): RobotsRules {
  const tokens = new Set([names].flat().map((name) => name.split('/')[0]!.toLowerCase()));
  const reader = new Reader(tokens);
  for (const line of linesOf(body)) reader.line(line);
  const { own, everyone, sitemaps } = reader;
  const groups = own.named ? (tokens.has('*') ? [own, everyone] : [own]) : [everyone];
  const rules = groups.flatMap((group) => group.rules);
  const delays = groups.map((group) => group.crawlDelayMs).filter((delay) => delay !== null);
  const crawlDelayMs = delays.length === 0 ? null : Math.max(...delays);
  return new RobotsRules(rules, crawlDelayMs, absolute(sitemaps, fileUrl));
}

/** The Sitemap lines of a file, which apply to all crawlers; `fileUrl` is their base. */
export function sitemapsNamed(body: Uint8Array, fileUrl: string): string[] {
  const reader = new Reader(new Set());
  for (const line of linesOf(body)) {
    if (SITEMAP_LINE.test(line)) reader.line(line);
  }
  return absolute(reader.sitemaps, fileUrl);
}

function absolute(sitemaps: Iterable<string>, fileUrl: string | undefined): string[] {
  if (fileUrl === undefined) return [...sitemaps];
  const resolved = [...sitemaps].map((text) => URL.parse(text, fileUrl)?.href);
  return [...new Set(resolved.filter((href) => href !== undefined))];
}

/** Collects the rules for this crawler's tokens, those for all crawlers, and the sitemaps. */
class Reader {
  readonly own: Group = { named: false, rules: [], crawlDelayMs: null };
  readonly everyone: Group = { named: false, rules: [], crawlDelayMs: null };
  readonly sitemaps = new Set<string>();
  readonly #tokens: ReadonlySet<string>;
  /** The groups to which the next rule belongs. A user-agent line after a rule empties them. */
  #ruled = new Set<Group>();
  /** The same for the next Crawl-delay. A user-agent line after a rule or a delay empties them. */
  #delayed = new Set<Group>();
  #rulesFollowed = false;
  #delayFollowed = false;

  constructor(tokens: ReadonlySet<string>) {
    this.#tokens = tokens;
  }

  line(line: string): void {
    const entry = entryOf(line);
    if (entry === null) return;
    const { key, value } = entry;
    switch (key) {
      case 'user-agent':
        this.#userAgent(value);
        break;
      case 'sitemap':
        if (this.sitemaps.size < SITEMAPS_MAX && value !== '') this.sitemaps.add(utf8(value));
        break;
      case 'crawl-delay':
        this.#crawlDelay(value);
        break;
      case 'allow':
      case 'disallow':
        this.#rule(key === 'allow', value);
        break;
      default:
        assertNever(key);
    }
  }

  #userAgent(value: string): void {
    if (this.#rulesFollowed) this.#ruled = new Set();
    if (this.#rulesFollowed || this.#delayFollowed) this.#delayed = new Set();
    this.#rulesFollowed = false;
    this.#delayFollowed = false;
    const group = this.#groupOf(value);
    if (group === null) return;
    group.named = true;
    this.#ruled.add(group);
    this.#delayed.add(group);
  }

  #groupOf(value: string): Group | null {
    if (value === '*' || /^\*[\t ]/.test(value)) return this.everyone;
    const token = productTokenOf(value)?.toLowerCase();
    return token !== undefined && this.#tokens.has(token) ? this.own : null;
  }

  #rule(allow: boolean, value: string): void {
    this.#rulesFollowed = true;
    if (value === '' || this.#ruled.size === 0) return;
    const rule = { allow, pattern: pathPattern(value), value };
    for (const group of this.#ruled) group.rules.push(rule);
  }

  #crawlDelay(value: string): void {
    this.#delayFollowed = true;
    if (!/^\d{0,12}\.?\d{0,12}$/.test(value) || !/\d/.test(value)) return;
    const delayMs = Math.min(Math.round(Number(value) * 1000), CRAWL_DELAY_MAX_MS);
    for (const group of this.#delayed) {
      group.crawlDelayMs = Math.max(group.crawlDelayMs ?? 0, delayMs);
    }
  }
}

/** Skips empty lines, and the last line if the body was cut. */
function* linesOf(body: Uint8Array | string): Generator<string> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body);
  const read = bytes.subarray(0, ROBOTS_BYTES_MAX);
  const text = octetsOf(read);
  const isCut = read.length === ROBOTS_BYTES_MAX;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x0a && code !== 0x0d) continue;
    if (at > start) yield text.slice(start, at);
    start = at + 1;
  }
  if (!isCut && start < text.length) yield text.slice(start);
}

function textOf({ allow, value }: Rule): string {
  return `${allow ? 'Allow' : 'Disallow'}: ${utf8(value)}`;
}

/** The text with one character per octet: rules are compared by octet, and no octet may be lost. */
function octetsOf(bytes: Buffer): string {
  const utf16 =
    bytes[0] === 0xfe && bytes[1] === 0xff
      ? 'utf-16be'
      : bytes[0] === 0xff && bytes[1] === 0xfe && bytes[2] !== 0
        ? 'utf-16le'
        : null;
  const octets = utf16 === null ? bytes : Buffer.from(new TextDecoder(utf16).decode(bytes));
  return octets.toString('latin1');
}

function utf8(octets: string): string {
  return Buffer.from(octets, 'latin1').toString();
}

function entryOf(line: string): { key: Key; value: string } | null {
  const cut = line.slice(0, LINE_OCTETS_MAX).replace(MARKS, '');
  const comment = cut.indexOf('#');
  const text = trim(comment < 0 ? cut : cut.slice(0, comment));
  const colon = text.indexOf(':');
  const key = colon < 0 ? undefined : KEYS.get(trim(text.slice(0, colon)).toLowerCase());
  if (key !== undefined) return { key, value: trim(withoutMarkup(text.slice(colon + 1))) };
  // `disallow /x`: a line of two words without a colon. Longer lines are prose.
  const words = text.split(/[\t ]+/, 3);
  const bare = words.length === 2 ? KEYS.get(words[0]!.toLowerCase()) : undefined;
  return bare === undefined ? null : { key: bare, value: withoutMarkup(words[1]!) };
}

/** Some HTML editors leave a `<br>` at the end of each line. */
function withoutMarkup(value: string): string {
  return value.replace(/<br ?\/?>$/i, '');
}

/**
 * Unlike `String.trim`, keeps 0xA0: the character is white space, but the octet can be part of a
 * letter.
 */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0c) || code === 0;
}

function assertNever(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
