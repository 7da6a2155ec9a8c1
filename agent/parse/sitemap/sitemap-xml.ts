// The XML of sitemaps and feeds, read as it comes: the root element tells what the file is, and in
// which elements its URLs stand. It uses htmlparser2's Tokenizer and not its Parser, which builds an
// object of all attributes of an element and keeps every piece that a token began in. Whatever the
// XML, what is kept here is the last piece, the names of the open elements and one URL. Prefixes are
// dropped from names, except where another vocabulary has the same name (`image:loc`).

import { decodeXML } from 'entities/decode';
import { type TokenizerCallbacks as Callbacks, Tokenizer } from 'htmlparser2';

export type SitemapKind = 'urls' | 'index' | 'feed';

const KINDS: ReadonlyMap<string, SitemapKind> = new Map([
  ['urlset', 'urls'],
  ['sitemapindex', 'index'],
  ['rss', 'feed'],
  ['RDF', 'feed'],
  ['feed', 'feed'],
]);
/** Parent and name of the elements whose text is a URL. */
const TEXTS: ReadonlySet<string> = new Set(['url loc', 'sitemap loc', 'item link', 'channel link']);
/** Text of one element, or value of one attribute, as written; longer is no URL. */
const TEXT_CHARS_MAX = 16_384;
/** Longer names of elements count as one name, which is none of those above. */
const NAME_CHARS_MAX = 256;
/** Elements within one another; sitemaps have three, feeds five. */
const DEPTH_MAX = 64;

/** Of an Atom link. */
type Attribute = 'href' | 'rel';

interface Element {
  readonly name: string;
  /** The name without its prefix. */
  readonly local: string;
}

export class SitemapXml implements Callbacks {
  readonly #add: (url: string) => void;
  readonly #tokenizer: Tokenizer;
  /** The open elements. */
  readonly #path: Element[] = [];
  #kind: SitemapKind | null = null;
  /** The prefix of the root, which its vocabulary has in the whole file. */
  #prefix = '';
  /** The last piece, and before it as much as a token that began earlier may need. */
  #window = '';
  /** Where the window begins in the whole text. */
  #windowAt = 0;
  /** The start tag at hand, until its end. */
  #tag: Element = { name: '', local: '' };
  #isLink = false;
  #attribute: Attribute | null = null;
  readonly #attributes = new Map<Attribute, string>();
  /** Text of the element at hand, as far as it is decoded; null where it is no URL. */
  #text: string | null = null;
  /** What follows it, as written. */
  #raw = '';
  /** The root is that of something else, or it is nested beyond sense. */
  isNone = false;

  constructor(add: (url: string) => void) {
    this.#add = add;
    // The text and the values that count are decoded here; the tokenizer skips the others faster.
    this.#tokenizer = new Tokenizer({ xmlMode: true, decodeEntities: false }, this);
  }

  write(text: string): void {
    if (this.isNone) return;
    const kept = this.#window.slice(-TEXT_CHARS_MAX);
    this.#windowAt += this.#window.length - kept.length;
    this.#window = kept + text;
    this.#tokenizer.write(text);
  }

  /** @returns what the file was, null if it was none */
  end(): SitemapKind | null {
    // An element that is not closed may have lost a part of its URL.
    return this.isNone ? null : this.#kind;
  }

  /** @internal */
  onopentagname(start: number, end: number): void {
    this.#tag = elementOf(this.#slice(start, end, NAME_CHARS_MAX) ?? '');
    const { name, local } = this.#tag;
    if (this.#path.length === 0) this.#root(name, local);
    const parent = this.#path.at(-1)?.local;
    this.#isLink = local === 'link' && (parent === 'entry' || parent === 'feed');
    this.#isLink &&= this.#isOwn(this.#tag);
    this.#attributes.clear();
  }

  /** @internal */
  onattribname(start: number, end: number): void {
    const name = this.#isLink ? this.#slice(start, end, NAME_CHARS_MAX) : null;
    this.#attribute = name === 'href' || name === 'rel' ? name : null;
    // Of attributes with one name the first counts.
    if (this.#attribute !== null && this.#attributes.has(this.#attribute)) this.#attribute = null;
    this.#raw = '';
  }

  /** @internal */
  onattribdata(start: number, end: number): void {
    if (this.#attribute !== null) this.#collect(start, end);
  }

  /** @internal */
  onattribend(): void {
    if (this.#attribute === null) return;
    if (this.#raw.length <= TEXT_CHARS_MAX) {
      this.#attributes.set(this.#attribute, decodeXML(this.#raw));
    }
    this.#attribute = null;
  }

  /** @internal */
  onopentagend(): void {
    const parent = this.#path.at(-1)?.local;
    this.#path.push(this.#tag);
    if (this.#path.length > DEPTH_MAX) this.isNone = true;
    const hasUrl = TEXTS.has(`${parent} ${this.#tag.local}`) && this.#isOwn(this.#tag);
    this.#text = hasUrl ? '' : null;
    this.#raw = '';
    if (this.#isLink) this.#link();
  }

  /** @internal */
  onselfclosingtag(): void {
    this.onopentagend();
    this.#path.pop();
    this.#text = null;
  }

  /** @internal Closes what is open within as well; what is not open is ignored. */
  onclosetag(start: number, end: number): void {
    this.#decode();
    const name = this.#slice(start, end, NAME_CHARS_MAX) ?? '';
    const at = this.#path.findLastIndex((element) => element.name === name);
    if (at < 0) return;
    this.#path.length = at;
    if (this.#text !== null && !this.isNone) this.#add(this.#text);
    this.#text = null;
  }

  /** @internal */
  ontext(start: number, end: number): void {
    if (this.#text !== null) this.#collect(start, end);
  }

  /** @internal */
  oncdata(start: number, end: number, endOffset: number): void {
    this.#decode();
    if (this.#text === null) return;
    const text = this.#slice(start, end - endOffset, TEXT_CHARS_MAX);
    this.#text = text === null ? null : this.#text + text;
  }

  /** @internal */
  oncomment(): void {
    this.#decode();
  }

  /** @internal */
  onprocessinginstruction(): void {
    this.#decode();
  }

  /** @internal */
  ondeclaration(): void {}
  /** @internal */
  onattribentity(): void {}
  /** @internal */
  ontextentity(): void {}
  /** @internal */
  onend(): void {}

  #root(name: string, local: string): void {
    this.#kind = KINDS.get(local) ?? null;
    this.#prefix = prefixOf(name);
    if (this.#kind === null) this.isNone = true;
  }

  #isOwn({ name }: Element): boolean {
    const prefix = prefixOf(name);
    return prefix === this.#prefix || (this.#kind === 'feed' && prefix === '');
  }

  #link(): void {
    const href = this.#attributes.get('href');
    const rel = this.#attributes.get('rel') ?? 'alternate';
    if (href === undefined || this.isNone) return;
    if (rel === 'alternate' || rel === 'next') this.#add(href);
  }

  /** One character more than may be tells that there was more. */
  #collect(start: number, end: number): void {
    const room = TEXT_CHARS_MAX + 1 - this.#raw.length;
    if (room > 0) this.#raw += this.#slice(start, Math.min(end, start + room), room);
  }

  /** Of a text that was cut off nothing is used: decoded it might be short enough to pass for whole. */
  #decode(): void {
    if (this.#text === null) return;
    const isCut = this.#text.length + this.#raw.length > TEXT_CHARS_MAX;
    this.#text = isCut ? null : this.#text + decodeXML(this.#raw);
    this.#raw = '';
  }

  /** @returns null for more than `charsMax`, which may be out of the window */
  #slice(start: number, end: number, charsMax: number): string | null {
    if (end - start > charsMax) return null;
    return this.#window.slice(start - this.#windowAt, end - this.#windowAt);
  }
}

function elementOf(name: string): Element {
  return { name, local: name.slice(name.indexOf(':') + 1) };
}

function prefixOf(name: string): string {
  return name.slice(0, Math.max(name.indexOf(':'), 0));
}
