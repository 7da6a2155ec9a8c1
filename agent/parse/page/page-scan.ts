// Reads a page's text once and notes what a crawler wants of it: where it links to, its base, where
// it refreshes to, and what it says to robots. It stands on htmlparser2's Tokenizer rather than its
// Parser, whose stack of open elements costs quadratic time on hostile pages and whose attribute
// objects nobody here needs. Scripting counts as off: what is in noscript is part of the page.

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

/** Longer attribute values are `data:` documents or attacks; no server takes such a URL. */
const VALUE_CHARS_MAX = 64 * 1024;

/**
 * Spellings kept of one page: ten times the links that are taken of one, as many may be refused or
 * name the same URL. It bounds what a hostile page can make a thread hold.
 */
const HREFS_MAX = 100_000;

/** Longest of the names that matter (`annotation-xml`, `shadowrootmode`). */
const NAME_CHARS_MAX = 14;

/** What was found, as written in the page. */
export interface PageScan {
  /** Link targets in document order, each spelling once, the refresh among them. */
  readonly hrefs: ReadonlySet<string>;
  /** Further links that were not kept, each time they were met. */
  readonly hrefsDropped: number;
  /** `href` of the first base element that has one. */
  readonly base: string | null;
  readonly refresh: string | null;
  /** `href` of the first `link` with `rel=canonical`. */
  readonly canonical: string | null;
  /** What the page itself says to this crawler. */
  readonly directives: RobotsDirectives;
}

/** How a page is read. */
export interface ScanOptions {
  /** Whether `<script/>` and the like close themselves; default false. */
  readonly xhtml?: boolean;
  /** Whether images, scripts, styles and media count as links; default false. */
  readonly embeds?: boolean;
  /** This crawler's name; meta elements of that name concern it like `robots`. */
  readonly productToken?: string;
}

/** Scans the text of a page; never throws, and takes time linear in its length. */
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
  /** Where the tokenizer is to start anew, behind a script that it would misread. */
  #resumeAt: number | null = null;
  /** The next comment not before the last script looked at: most pages have none in a script. */
  #commentAt = -1;
  /** Where the next CDATA begins, counted from the end of the page, which never moves; 0: none. */
  #fromEnd = Number.POSITIVE_INFINITY;
  readonly #context = new TreeContext();
  #tag = '';
  /** What to read of the tag at hand. */
  #wanted: ReadonlySet<string> | undefined;
  readonly #attributes = new Map<string, string>();
  #attribute: string | null = null;
  #value = '';
  /** Inside an element whose text is no text of the page. */
  #rawText = false;

  constructor({ embeds = false, productToken }: ScanOptions) {
    this.#embeds = embeds;
    this.#attributesOf = attributesRead(embeds);
    this.#productToken = productToken?.toLowerCase();
  }

  /** @returns where the rest begins that another tokenizer has to read; null at the end */
  read(text: string, tokenizer: Tokenizer): number | null {
    this.#text = text;
    this.#tokenizer = tokenizer;
    this.#resumeAt = null;
    this.#commentAt = -1;
    this.#feed(text, tokenizer);
    return this.#resumeAt;
  }

  /**
   * CDATA is a thing of SVG and MathML; in HTML it is a comment that the next bracket ends, and
   * htmlparser2 knows only the former. So it is given another letter where that is meant. What is
   * kept is cut from the text itself, so one letter less is never missed.
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

  /** Looks no stretch of the page through twice, however often the tokenizer is started anew. */
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
    // Of attributes with one name the first counts.
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
    // Of what was cut off nothing is used; decoded it might be short enough to pass for whole.
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

  /** An element may show several files, such as a film and its poster. */
  #embedded(): void {
    for (const place of PLACES) {
      const href = this.#attributes.get(place);
      // Browsers load nothing for an empty `src`; it would be the page itself.
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
 * Where `before` and `sign` stand together, at `from` or later; -1: nowhere. Looked for is the sign,
 * since a search that begins with a bracket stops at each tag.
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
