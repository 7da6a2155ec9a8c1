// Scans the text of a page once and collects what the crawler needs: links, base, refresh target
// and directives to robots. It uses htmlparser2's Tokenizer, because the stack of open elements in
// the Parser takes quadratic time on hostile pages, and its attribute objects are not needed.
// Scripting counts as disabled: the content of noscript is part of the page.

import { decodeHTMLAttribute } from 'entities/decode';
import { type TokenizerCallbacks as Callbacks, Tokenizer } from 'htmlparser2';
import { attributesRead, leadsToPage, loadsWithPage, PLACES } from './link-elements.ts';
import { refreshTarget } from './meta-refresh.ts';
import {
  metaDirectives,
  NO_DIRECTIVES,
  type RobotsDirectives,
  togetherDirectives,
} from './robots-directives.ts';
import { escapedScriptEnd } from './script-end.ts';
import { srcsetUrls } from './srcset.ts';
import { TreeContext } from './tree-context.ts';

/** Limit on the characters of a value. Longer ones are `data:` URLs or attacks, never links. */
const VALUE_CHARS_MAX = 64 * 1024;

/**
 * Limit on the distinct hrefs kept of one page, which bounds the memory that a hostile page can
 * use. It is ten times the limit on links, since many hrefs may be refused or name the same URL.
 */
const HREFS_MAX = 100_000;

/** Length of the longest names that matter (`annotation-xml`, `shadowrootmode`). */
const NAME_CHARS_MAX = 14;

/** The result of a scan. URLs are as written in the page. */
export interface PageScan {
  /** Link targets in document order, without duplicates; they include the refresh target. */
  readonly hrefs: ReadonlySet<string>;
  /** Occurrences of further links, which were not kept. */
  readonly hrefsDropped: number;
  /** `href` of the first base element that has one. */
  readonly base: string | null;
  readonly refresh: string | null;
  /** `href` of the first `link` with `rel=canonical`. */
  readonly canonical: string | null;
  /** Directives of the page that apply to this crawler. */
  readonly directives: RobotsDirectives;
}

export interface ScanOptions {
  /** Whether tags such as `<script/>` close themselves; default false. */
  readonly xhtml?: boolean;
  /** Whether images, scripts, styles and media count as links; default false. */
  readonly embeds?: boolean;
  /** Product token of this crawler. Meta elements with this name apply like `robots`. */
  readonly productToken?: string | undefined;
}

/** Never throws, and takes time linear in the length of the text. */
export function scanPage(text: string, options: ScanOptions = {}): PageScan {
  const scanner = new Scanner(options);
  const reading = { recognizeSelfClosing: options.xhtml ?? false, decodeEntities: false };
  let rest = text;
  for (let next: number | null = 0; next !== null; ) {
    rest = rest.slice(next);
    next = scanner.read(rest, new Tokenizer(reading, scanner));
  }
  return scanner;
}

class Scanner implements Callbacks, PageScan {
  readonly hrefs = new Set<string>();
  hrefsDropped = 0;
  base: string | null = null;
  refresh: string | null = null;
  canonical: string | null = null;
  directives = NO_DIRECTIVES;
  readonly #attributesOf: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #embeds: boolean;
  readonly #productToken: string | undefined;
  #text = '';
  #tokenizer: Tokenizer | null = null;
  /** Where a new tokenizer must start, because this one would misread a script. */
  #resumeAt: number | null = null;
  /** The first comment after the last script that was checked; most scripts have none. */
  #commentAt = -1;
  /** Distance of the next CDATA from the end of the page, which never moves; 0: none. */
  #fromEnd = Number.POSITIVE_INFINITY;
  readonly #context = new TreeContext();
  #tag = '';
  /** Attributes to read of the current tag. */
  #wanted: ReadonlySet<string> | undefined;
  readonly #attributes = new Map<string, string>();
  #attribute: string | null = null;
  #value = '';
  /** Whether the text of the current element is not text of the page. */
  #rawText = false;

  constructor({ embeds = false, productToken }: ScanOptions) {
    this.#embeds = embeds;
    this.#attributesOf = attributesRead(embeds);
    this.#productToken = productToken?.toLowerCase();
  }

  /** @returns the start of the rest, which a new tokenizer must read; null at the end */
  read(text: string, tokenizer: Tokenizer): number | null {
    this.#text = text;
    this.#tokenizer = tokenizer;
    this.#resumeAt = null;
    this.#commentAt = -1;
    this.#feed(text, tokenizer);
    return this.#resumeAt;
  }

  /**
   * CDATA sections exist only in SVG and MathML; in HTML they are comments that end at the next
   * `>`. htmlparser2 always reads a CDATA section, so in HTML the `[` after `<!` is replaced by a
   * letter. Values are cut from the original text, so the replacement never shows.
   */
  #feed(text: string, tokenizer: Tokenizer): void {
    let from = 0;
    for (let at = this.#cdataFrom(0); at < text.length; at = this.#cdataFrom(at + 1)) {
      tokenizer.write(text.slice(from, at));
      if (this.#resumeAt !== null) return;
      from = at;
      if (this.#context.inForeignContent) continue;
      tokenizer.write('<!x');
      from += '<!x'.length;
    }
    tokenizer.write(text.slice(from));
    tokenizer.end();
  }

  /** Searches no part of the page twice, however often a new tokenizer starts. */
  #cdataFrom(start: number): number {
    if (this.#fromEnd > this.#text.length - start) {
      const at = indexAfter(this.#text, '<![', 'CDATA[', start);
      this.#fromEnd = at < 0 ? 0 : this.#text.length - at;
    }
    return this.#text.length - this.#fromEnd;
  }

  isInForeignContext(): boolean {
    return this.#context.inForeignContent;
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#name(start, end);
    this.#wanted = this.#attributesOf.get(this.#tag);
    this.#attributes.clear();
  }

  onattribname(start: number, end: number): void {
    const name = this.#wanted === undefined ? '' : this.#name(start, end);
    // The first of several attributes with the same name counts.
    const wanted = this.#wanted?.has(name) && !this.#attributes.has(name);
    this.#attribute = wanted ? name : null;
    this.#value = '';
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute === null || this.#value.length > VALUE_CHARS_MAX) return;
    this.#value += this.#text.slice(start, Math.min(end, start + VALUE_CHARS_MAX + 1));
  }

  onattribentity(): void {}

  onattribend(): void {
    if (this.#attribute === null) return;
    // A value that was cut off is not decoded: it might then be short enough to pass as complete.
    const isWhole = this.#value.length <= VALUE_CHARS_MAX;
    const value =
      isWhole && this.#value.includes('&') ? decodeHTMLAttribute(this.#value) : this.#value;
    this.#attributes.set(this.#attribute, value.replaceAll('\0', '\ufffd'));
    this.#attribute = null;
  }

  onopentagend(end: number): void {
    const isScript = this.#tag === 'script' && !this.#context.inForeignContent;
    this.#startTag(false);
    if (isScript) this.#skipEscapedScript(end + 1);
  }

  onselfclosingtag(): void {
    this.#startTag(true);
  }

  onclosetag(start: number, end: number): void {
    this.#rawText = false;
    this.#context.close(this.#name(start, end));
  }

  ontext(start: number, end: number): void {
    if (this.#rawText || !this.#context.wantsText) return;
    if (/[^\s\0]/.test(this.#text.slice(start, end))) this.#context.text();
  }

  ontextentity(): void {}

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #name(start: number, end: number): string {
    return end - start > NAME_CHARS_MAX ? '' : this.#text.slice(start, end).toLowerCase();
  }

  #skipEscapedScript(from: number): void {
    if (this.#commentAt < from) {
      const comment = indexAfter(this.#text, '<', '!--', from);
      this.#commentAt = comment < 0 ? Number.POSITIVE_INFINITY : comment;
    }
    if (this.#commentAt === Number.POSITIVE_INFINITY) return;
    this.#resumeAt = escapedScriptEnd(this.#text, from);
    if (this.#resumeAt !== null) this.#tokenizer?.pause();
  }

  #startTag(selfClosing: boolean): void {
    const name = this.#tag;
    const attributes = this.#attributes;
    const mode =
      name === 'font'
        ? attributes.values().next().value
        : (attributes.get('shadowrootmode') ??
          attributes.get('encoding') ??
          attributes.get('type'));
    if (!this.#context.open({ name, selfClosing, mode })) return;
    this.#rawText =
      name === 'title' || name === 'script' || name === 'style' || name === 'noframes';
    if (this.#wanted === undefined) return;
    if (name === 'meta') this.#meta();
    else if (name === 'base') {
      if (!this.#context.inNoscript) this.base ??= attributes.get('href') ?? null;
    } else if (name !== 'font') this.#link(name);
  }

  #link(name: string): void {
    const attributes = this.#attributes;
    if (name === 'link' || name === 'a' || name === 'area') {
      const relations =
        attributes
          .get('rel')
          ?.toLowerCase()
          .split(/[\t\n\f\r ]+/) ?? [];
      if (name === 'link' && relations.includes('canonical')) {
        this.canonical ??= attributes.get('href') ?? null;
      }
      if (relations.includes('nofollow')) return;
      const counts =
        name !== 'link' ||
        leadsToPage(relations, attributes.get('type')) ||
        (this.#embeds && loadsWithPage(relations));
      if (!counts) return;
    }
    if (this.#embeds) this.#embedded();
    else {
      const href = attributes.get('href') ?? attributes.get('xlink:href') ?? attributes.get('src');
      if (href !== undefined) this.#keep(href);
    }
  }

  /** An element may load several files, such as a video and its poster. */
  #embedded(): void {
    for (const place of PLACES) {
      const href = this.#attributes.get(place);
      // Browsers load nothing for an empty `src`, which would name the page itself.
      if (href !== undefined && (href !== '' || place === 'href')) this.#keep(href);
    }
    const srcset = this.#attributes.get('srcset');
    if (srcset === undefined || srcset.length > VALUE_CHARS_MAX) return;
    for (const url of srcsetUrls(srcset)) this.#keep(url);
  }

  #keep(href: string): void {
    if (href.length > VALUE_CHARS_MAX) return;
    if (this.hrefs.size < HREFS_MAX) this.hrefs.add(href);
    else if (!this.hrefs.has(href)) this.hrefsDropped++;
  }

  #meta(): void {
    const content = this.#attributes.get('content');
    if (content === undefined || content.length > VALUE_CHARS_MAX) return;
    if (this.#attributes.get('http-equiv')?.toLowerCase() === 'refresh' && this.refresh === null) {
      const target = refreshTarget(content);
      if (target === null) return;
      this.refresh = target;
      this.#keep(target);
    }
    const name = this.#attributes.get('name')?.trim().toLowerCase();
    if (name === undefined || (name !== 'robots' && name !== this.#productToken)) return;
    this.directives = togetherDirectives(this.directives, metaDirectives(content));
  }
}

/**
 * @returns the first position, `from` or later, of `before` followed by `sign`; -1 if there is
 *   none. It searches for `sign`, because a search for `<` stops at each tag.
 */
function indexAfter(text: string, before: string, sign: string, from: number): number {
  for (let at = from; ; at++) {
    at = text.indexOf(sign, at);
    if (at < 0) return -1;
    if (at - before.length >= from && text.startsWith(before, at - before.length)) {
      return at - before.length;
    }
  }
}
