// Reads a page's text once and notes what a crawler wants of it: where it links to, its base, where
// it refreshes to, and what it says to robots. It stands on htmlparser2's Tokenizer rather than its
// Parser, whose stack of open elements costs quadratic time on hostile pages and whose attribute
// objects nobody here needs. Scripting counts as off: what is in noscript is part of the page.

import { type TokenizerCallbacks as Callbacks, Tokenizer } from 'htmlparser2';
import { refreshTarget } from './meta-refresh.ts';
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
  /** The page asks that none of its links be followed. */
  readonly nofollow: boolean;
  readonly noindex: boolean;
}

/** Attributes that are read, by element. */
const ATTRIBUTES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['a', new Set(['href', 'xlink:href', 'rel'])],
  ['area', new Set(['href', 'rel'])],
  ['link', new Set(['href', 'rel', 'type'])],
  ['iframe', new Set(['src'])],
  ['frame', new Set(['src'])],
  ['base', new Set(['href'])],
  ['meta', new Set(['http-equiv', 'name', 'content'])],
  ['template', new Set(['shadowrootmode'])],
  ['annotation-xml', new Set(['encoding'])],
]);

/**
 * Kinds of `link` that lead to pages. The rest is what a browser loads to show this page
 * (stylesheet, icon, preload, manifest), or ends of protocols (pingback, webmention, EditURI).
 */
const PAGE_RELATIONS = new Set(
  (
    'canonical alternate next prev previous first last start begin end up top home contents toc ' +
    'index chapter section subsection appendix glossary bookmark help about author search ' +
    'license copyright amphtml'
  ).split(' '),
);

/**
 * Scans the text of a page; never throws, and takes time linear in its length.
 *
 * @param xhtml - whether `<script/>` and the like close themselves
 */
export function scanPage(text: string, xhtml = false): PageScan {
  const scanner = new Scanner(text);
  const tokenizer = new Tokenizer({ recognizeSelfClosing: xhtml, decodeEntities: true }, scanner);
  tokenizer.write(text);
  tokenizer.end();
  return scanner;
}

class Scanner implements Callbacks, PageScan {
  readonly hrefs = new Set<string>();
  hrefsDropped = 0;
  base: string | null = null;
  refresh: string | null = null;
  nofollow = false;
  noindex = false;
  readonly #text: string;
  readonly #context = new TreeContext();
  #tag = '';
  /** What to read of the tag at hand. */
  #wanted: ReadonlySet<string> | undefined;
  readonly #attributes = new Map<string, string>();
  #attribute: string | null = null;
  #value = '';
  /** Inside an element whose text is no text of the page. */
  #rawText = false;

  constructor(text: string) {
    this.#text = text;
  }

  isInForeignContext(): boolean {
    return this.#context.inForeignContent;
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#name(start, end);
    this.#wanted = ATTRIBUTES.get(this.#tag);
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

  onattribentity(codePoint: number): void {
    if (this.#attribute !== null) this.#value += String.fromCodePoint(codePoint);
  }

  onattribend(): void {
    if (this.#attribute === null) return;
    this.#attributes.set(this.#attribute, this.#value.replaceAll('\0', '\ufffd'));
    this.#attribute = null;
  }

  onopentagend(): void {
    this.#startTag(false);
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

  ontextentity(): void {
    if (!this.#rawText) this.#context.text();
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #name(start: number, end: number): string {
    return end - start > NAME_CHARS_MAX ? '' : this.#text.slice(start, end).toLowerCase();
  }

  #startTag(selfClosing: boolean): void {
    const name = this.#tag;
    const attributes = this.#attributes;
    const mode = attributes.get('shadowrootmode') ?? attributes.get('encoding');
    if (!this.#context.open({ name, selfClosing, mode })) return;
    this.#rawText =
      name === 'title' || name === 'script' || name === 'style' || name === 'noframes';
    if (this.#wanted === undefined) return;
    if (name === 'meta') this.#meta();
    else if (name === 'base') {
      if (!this.#context.inNoscript) this.base ??= attributes.get('href') ?? null;
    } else this.#link(name);
  }

  #link(name: string): void {
    const attributes = this.#attributes;
    const href = attributes.get('href') ?? attributes.get('xlink:href') ?? attributes.get('src');
    if (href === undefined || href.length > VALUE_CHARS_MAX) return;
    const rel = attributes.get('rel');
    const relations = rel === undefined ? [] : rel.toLowerCase().split(/[\t\n\f\r ]+/);
    if (relations.includes('nofollow')) return;
    if (name === 'link' && !leadsToPage(relations, attributes.get('type'))) return;
    this.#keep(href);
  }

  #keep(href: string): void {
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
    if (this.#attributes.get('name')?.trim().toLowerCase() !== 'robots') return;
    const directives = content.split(',').map((directive) => directive.trim().toLowerCase());
    const none = directives.includes('none');
    this.nofollow ||= none || directives.includes('nofollow');
    this.noindex ||= none || directives.includes('noindex');
  }
}

/** A `type` other than HTML marks feeds and the like, in which there are no links to find. */
function leadsToPage(relations: readonly string[], type: string | undefined): boolean {
  if (relations.includes('stylesheet')) return false;
  if (type !== undefined && !/^\s*(text\/html|application\/xhtml\+xml)?\s*(;|$)/i.test(type)) {
    return false;
  }
  return relations.some((relation) => PAGE_RELATIONS.has(relation));
}
